#include "shared_config.hpp"

#include "fields.hpp"
#include "topology/load.hpp"

namespace tutti::runtime {

std::string pack_shared_config(const SharedConfigFiles& files) {
  std::string bytes;
  put_text(bytes, files.tuning.path);
  const UsableTuning tuning = usable_tuning(files.tuning);
  put_text(bytes, tuning.text);
  put_text(bytes, tuning.refusal);
  if (files.warn && !tuning.refusal.empty()) files.warn(tuning.refusal);
  const TimedCallsFile& timed = files.timed;
  const std::string refusal = timed.is_wanted ? why_not_kept(timed.path) : std::string{};
  put(bytes, static_cast<std::uint8_t>(timed.is_wanted && refusal.empty() ? 1 : 0));
  put_text(bytes, timed.path);
  put_text(bytes, timed.is_wanted ? usable_timed_calls(timed.path) : std::string{});
  put_text(bytes, refusal.empty() ? refusal : "calls were not timed: " + refusal);
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

ReceivedConfig unpack_shared_config(std::string_view bytes,
                                    const std::vector<std::pair<int, std::string>>& hosts) {
  auto shared_config = std::make_shared<detail::SharedConfig>();
  const std::string path{take_text(bytes)};
  if (const std::string_view text = take_text(bytes); !text.empty()) {
    detail::Tuning tuning = detail::tuning_of(text);
    tuning.origin = path;
    shared_config->tuning = std::make_shared<const detail::Tuning>(std::move(tuning));
  }
  shared_config->untuned = take_text(bytes);
  const bool may_time_calls = take<std::uint8_t>(bytes) != 0;
  const std::string_view timed_path = take_text(bytes);
  const std::string_view timed = take_text(bytes);
  const std::string_view untimed = take_text(bytes);
  NetworkText network;
  network.origin = take_text(bytes);
  network.content = take_text(bytes);
  network.is_file = take<std::uint8_t>(bytes) != 0;
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
