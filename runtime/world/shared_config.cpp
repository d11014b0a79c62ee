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
  if (files.warn && !tuning.refusal.empty()) files.warn(tuning.refusal);
  const TimedCallsFile& timed = files.timed;
  const std::string refusal = timed.is_wanted ? write_problem(timed.path) : std::string{};
  write_field(bytes, static_cast<std::uint8_t>(timed.is_wanted && refusal.empty() ? 1 : 0));
  write_text(bytes, timed.path);
  write_text(bytes, timed.is_wanted ? usable_timed_calls(timed.path) : std::string{});
  write_text(bytes, refusal.empty() ? refusal : "calls were not timed: " + refusal);
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

ReceivedConfig unpack_shared_config(std::string_view bytes,
                                    const std::vector<std::pair<int, std::string>>& hosts) {
  auto shared_config = std::make_shared<detail::SharedConfig>();
  const std::string path{read_text(bytes)};
  if (const std::string_view text = read_text(bytes); !text.empty()) {
    detail::Tuning tuning = detail::tuning_of(text);
    tuning.origin = path;
    shared_config->tuning = std::make_shared<const detail::Tuning>(std::move(tuning));
  }
  shared_config->untuned = read_text(bytes);
  const bool may_time_calls = read_field<std::uint8_t>(bytes) != 0;
  const std::string_view timed_path = read_text(bytes);
  const std::string_view timed = read_text(bytes);
  const std::string_view untimed = read_text(bytes);
  NetworkText network;
  network.origin = read_text(bytes);
  network.content = read_text(bytes);
  network.is_file = read_field<std::uint8_t>(bytes) != 0;
  if (!network.origin.empty())
    shared_config->network = std::make_shared<const detail::HostNetwork>(
        detail::find_hosts(network.origin, read_networks(network), network.is_file, hosts));
  return {.shared_config = with_timed_calls(*shared_config, timed_path, timed, untimed),
          .may_time_calls = may_time_calls,
          .timed_path = std::string{timed_path}};
}

std::shared_ptr<const detail::SharedConfig> with_timed_calls(
    const detail::SharedConfig& shared_config, std::string_view origin, std::string_view text,
    std::string_view refusal) {
  auto made = std::make_shared<detail::SharedConfig>(shared_config);
  made->untimed = refusal;
  if (text.empty()) return made;
  detail::Tuning timed = detail::tuning_of(text);
  timed.origin = origin;
  made->timed = std::make_shared<const detail::Tuning>(std::move(timed));
  return made;
}

}  // namespace tutti::runtime
