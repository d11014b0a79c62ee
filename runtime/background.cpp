#include "background.hpp"

#include "fields.hpp"
#include "topology/load.hpp"

namespace tutti::runtime {

std::string find_topology(const std::string& asked, const Environment& environment) {
  return !asked.empty() ? asked : std::string{value_of(environment, "TUTTI_TOPOLOGY").value_or("")};
}

std::string pack_background(const BackgroundFiles& files) {
  std::string bytes;
  put_text(bytes, files.tuning.path);
  put_text(bytes, usable_tuning(files.tuning));
  NetworkText network;
  if (!files.network.empty()) {
    network = find_network(files.network);
    static_cast<void>(read_networks(network));  // or say now what is wrong
  }
  put_text(bytes, network.origin);
  put_text(bytes, network.content);
  put(bytes, static_cast<std::uint8_t>(network.is_file ? 1 : 0));
  return bytes;
}

std::shared_ptr<const detail::Background> unpack_background(
    std::string_view bytes, const std::vector<std::pair<int, std::string>>& hosts) {
  auto background = std::make_shared<detail::Background>();
  const std::string path{take_text(bytes)};
  if (const std::string_view text = take_text(bytes); !text.empty()) {
    detail::Tuning tuning = detail::tuning_of(text);
    tuning.origin = path;
    background->tuning = std::make_shared<const detail::Tuning>(std::move(tuning));
  }
  NetworkText network;
  network.origin = take_text(bytes);
  network.content = take_text(bytes);
  network.is_file = take<std::uint8_t>(bytes) != 0;
  if (!network.origin.empty())
    background->network = std::make_shared<const detail::HostNetwork>(
        detail::find_hosts(network.origin, read_networks(network), network.is_file, hosts));
  return background;
}

}  // namespace tutti::runtime
