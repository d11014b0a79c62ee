/// @file
/// Variables that begin with TUTTI_ and are none of tutti's.
#pragma once

#include <string_view>

namespace tutti::runtime {

/// @return whether other programs set a variable: environment modules for an installation, such as
/// TUTTI_ROOT or TUTTI_INC_DIR, or Kubernetes for a service, such as TUTTI_PORT_80_TCP.
[[nodiscard]] bool is_of_others(std::string_view name, std::string_view value) noexcept;

}  // namespace tutti::runtime
