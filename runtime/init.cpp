#include <tutti/init.hpp>

#include <algorithm>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/init.hpp>

#include "inherited_launch.hpp"
#include "open_channel.hpp"
#include "world.hpp"

namespace tutti::v0 {
namespace {

// With a shorter one, a thread that waits for a processor is mistaken for a lost host.
constexpr std::chrono::milliseconds kShortestHeartbeatTimeout{100};

/// The transport name for a network of the user's and TCP, of which each call takes the faster one.
constexpr std::string_view kFastest = "fastest";

std::string text_of(bool value) {
  return value ? "on" : "off";
}

/// Options that must be equal: otherwise ranks take each other for silent, dead or corrupt.
runtime::Agreed agreed(const InitOptions& options, const Network* network) {
  const auto heartbeat = std::chrono::floor<std::chrono::milliseconds>(options.heartbeat_timeout);
  return {{"transport", options.transport},
          {"heartbeat_timeout", std::to_string(heartbeat.count()) + " ms"},
          {"segments_in_flight", std::to_string(options.communicator.segments_in_flight)},
          {"payload_checksum", text_of(options.payload_checksum)},
          {"network", network == nullptr ? "TCP" : network->name()},
          {"network_megabits", std::to_string(options.network_megabits)}};
}

/// The values of options, or else of environment variables.
struct Settings {
  runtime::Protection protection{};
  Deadline deadline{};
};

Settings resolve_settings(const InitOptions& options, const runtime::Config& config) {
  if (options.timeout < Duration::zero())
    throw Error{ErrorCode::invalid_argument, "the timeout must not be less than zero"};
  if (options.heartbeat_timeout < kShortestHeartbeatTimeout)
    throw Error{ErrorCode::invalid_argument, "the heartbeat timeout must be 100 ms or more"};
  if (options.network_megabits < 0)
    throw Error{ErrorCode::invalid_argument, "the network's speed must not be less than zero"};
  Settings settings;
  settings.protection.interface = options.address.empty() ? config.address : options.address;
  settings.protection.insecure = options.insecure;
  const std::string& file = options.secret_file.empty() ? config.secret_file : options.secret_file;
  if (!file.empty()) settings.protection.secret = runtime::read_secret(file);
  const Duration timeout =
      options.timeout > Duration::zero() ? options.timeout : config.timeout.value_or(kInitTimeout);
  const Duration now = std::chrono::steady_clock::now().time_since_epoch();
  settings.deadline = Deadline{deadline_after(now, timeout)};
  return settings;
}

runtime::SharedConfigFiles shared_config_files(const InitOptions& options) {
  const runtime::Environment environment = runtime::process_environment();
  const runtime::Config config = runtime::read_config(environment);
  const std::string& tuning = options.tuning.empty() ? config.tuning : options.tuning;
  return {.tuning = runtime::find_tuning(tuning, environment),
          .timed = runtime::find_timed_calls(tuning, environment),
          .network = options.topology.empty() ? config.topology : options.topology,
          .warn = options.warn};
}

Communicator connect(Channel& channel, const InitOptions& options, const Settings& settings,
                     std::optional<runtime::HostAndPort> master,
                     std::shared_ptr<Network> network = nullptr) {
  runtime::WorldOptions world;
  world.has_tcp_too = network != nullptr && options.transport == kFastest;
  world.transports =
      world.has_tcp_too ? runtime::TransportSet::any : runtime::transports_of(options.transport);
  world.mesh.interface = settings.protection.interface;
  world.mesh.secret = settings.protection.secret;
  world.mesh.insecure = settings.protection.insecure;
  world.links.tls = options.tls;
  world.mesh.master = std::move(master);
  world.mesh.agreed = agreed(options, network.get());
  world.network = std::move(network);
  world.links.payload_checksum = options.payload_checksum;
  world.network_megabits = options.network_megabits;
  world.shared_config = shared_config_files(options);
  world.links.heartbeat = runtime::heartbeat_settings(options.heartbeat_timeout);
  return make_communicator(
      runtime::World::connect(channel, world, settings.deadline)->communicator_parts(),
      make_host_memory(), options.communicator);
}

}  // namespace

Communicator init(const InitOptions& options) {
  const runtime::Environment environment = runtime::process_environment();
  Settings settings = resolve_settings(options, runtime::read_config(environment));
  const runtime::Launch launch = runtime::detect_launch(
      environment, {.url = options.url, .rank = options.rank, .size = options.size});
  try {
    const std::unique_ptr<Channel> channel =
        runtime::open_channel(launch, settings.protection, settings.deadline);
    return connect(*channel, options, settings, runtime::meeting_address(launch));
  } catch (const Error& error) {
    if (options.rank || error.code() == ErrorCode::invalid_argument) throw;
    throw runtime::with_inherited_launch(error, environment);
  }
}

Result<Communicator> try_init(const InitOptions& options) noexcept {
  return detail::attempt([&] { return init(options); });
}

Communicator init(Channel& channel, const InitOptions& options) {
  return connect(channel, options, resolve_settings(options, {}), {});
}

Communicator init(Channel& channel, const InitOptions& options, std::shared_ptr<Network> network) {
  if (options.transport != "auto" && options.transport != kFastest)
    throw Error{ErrorCode::invalid_argument,
                "with a network of one's own the transport must be auto or fastest"};
  return connect(channel, options, resolve_settings(options, {}), {}, std::move(network));
}

void leave_worlds() noexcept {
  runtime::ProcessLinks::leave_all();
}

CommunicatorParts watch_ranks(Channel& channel, const InitOptions& options) {
  runtime::WorldOptions world;
  world.transports = runtime::TransportSet::none;
  world.links.heartbeat = runtime::heartbeat_settings(options.heartbeat_timeout);
  world.mesh.agreed = agreed(options, nullptr);
  world.shared_config = shared_config_files(options);
  return runtime::World::connect(channel, world, resolve_settings(options, {}).deadline)
      ->communicator_parts();
}

}  // namespace tutti::v0
