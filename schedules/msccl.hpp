/// @file
/// Names of collectives in XML of MSCCL.
#pragma once

#include <string_view>

#include <tutti/types.hpp>

namespace tutti::v0::written {

/// @return MSCCL's name of a collective, or tutti's if MSCCL has none.
[[nodiscard]] std::string_view msccl_name(Collective collective) noexcept;

}  // namespace tutti::v0::written
