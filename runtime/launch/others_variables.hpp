/// @file
/// Variables that begin with TUTTI_ and that other programs set: Kubernetes for a service of this
/// name, and environment modules for an installation.
#pragma once

#include <string_view>

namespace tutti::runtime {

/// @param rest of the name after "TUTTI", such as "_SERVICE_HOST". @return whether the name and the
/// value are those of a service link or of a module: other values may be a user's mistake.
[[nodiscard]] bool is_of_others(std::string_view rest, std::string_view value) noexcept;

}  // namespace tutti::runtime
