// Without hwloc this host is unknown.
#include <tutti/error.hpp>

#include "machine.hpp"

namespace tutti::v0 {

bool has_hwloc() noexcept {
  return false;
}

Locality locality_of(std::span<const std::uint64_t>) {
  return {};
}

NamedTopology machine_topology() {
  throw Error{
      ErrorCode::invalid_argument,
      "tutti was built without hwloc (libhwloc-dev), which describes what the processors of this "
      "machine share"};
}

}  // namespace tutti::v0
