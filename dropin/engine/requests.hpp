/// @file
/// MPI's functions that wait for requests or test them: while calls of tutti are pending, they let
/// those advance. They never look into a request.
#pragma once

#include <string_view>

namespace tutti::dropin {

/// @param name such as "Wait". @return the function, or null if there is none of this name.
[[nodiscard]] const void* find_request_function(std::string_view name) noexcept;

}  // namespace tutti::dropin
