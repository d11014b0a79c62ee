#include "shared_config.hpp"

#include "runtime/sockets/fields.hpp"
#include "topology/load.hpp"

namespace tutti::runtime {

std::string pack_shared_config(const SharedConfigFiles& files) {
  std::string bytes;
  write_text(bytes, files.tuning.path);
  const UsableTuning tuning = usable_tuning(files.tuning);
  write_text(bytes, tuning.text);
  write_text(bytes, tuning.refusal);
  if (!tuning.refusal.empty()) files.warn(tuning.refusal);
  for (const std::string& name : files.unknown)
    files.warn("tutti does not read the variable " + name + ", see docs/starting.md");
  NetworkText network;
  if (!files.network.empty()) {
    network = find_network(files.network);
    static_cast<void>(read_networks(network));  // throws if it is malformed
  }
  write_text(bytes, network.origin);
  write_text(bytes, network.content);
  write_field(bytes, static_cast<std::uint8_t>(network.is_file ? 1 : 0));
  return bytes;
}

std::shared_ptr<const detail::SharedConfig> unpack_shared_config(
    std::string_view bytes, const std::vector<std::pair<int, std::string>>& hosts) {
  auto shared_config = std::make_shared<detail::SharedConfig>();
  const std::string path{read_text(bytes)};
  if (const std::string_view text = read_text(bytes); !text.empty()) {
    detail::Tuning tuning = detail::tuning_of(text);
    tuning.origin = path;
    shared_config->tuning = std::make_shared<const detail::Tuning>(std::move(tuning));
  }
  shared_config->untuned = read_text(bytes);
  NetworkText network;
  network.origin = read_text(bytes);
  network.content = read_text(bytes);
  network.is_file = read_field<std::uint8_t>(bytes) != 0;
  if (!network.origin.empty())
    shared_config->network = std::make_shared<const detail::HostNetwork>(
        detail::find_hosts(network.origin, read_networks(network), network.is_file, hosts));
  return shared_config;
}

}  // namespace tutti::runtime
