/// @file
/// Names of collectives in XML of MSCCL.
#pragma once

#include <string_view>

#include <tutti/types.hpp>

namespace tutti::v0::written {

/// @param collective any. @return MSCCL's name for it, or ours where it has none.
[[nodiscard]] std::string_view msccl_name(Collective collective) noexcept;

}  // namespace tutti::v0::written
