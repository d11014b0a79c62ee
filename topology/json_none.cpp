// Without nlohmann-json networks in JSON are not read.
#include <tutti/error.hpp>

#include "base/json_text.hpp"
#include "read.hpp"
#include "reject_network.hpp"

namespace tutti::v0 {

NamedTopology read_json_topology(std::string_view) {
  reject_network(detail::kNoJson);
}

}  // namespace tutti::v0
