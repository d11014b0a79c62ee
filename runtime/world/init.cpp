#include <tutti/init.hpp>

#include <cstdio>
#include <optional>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/init.hpp>

#include "runtime/launch/inherited_launch.hpp"
#include "runtime/launch/open_channel.hpp"

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

/// The settings of a start: options, or else environment variables.
struct Start {
  runtime::WorldOptions world{};
  Deadline deadline = Deadline::max();
};

Duration checked_timeout(const InitOptions& options, const runtime::Config& config) {
  if (options.timeout < Duration::zero())
    throw Error{ErrorCode::invalid_argument, "the timeout must not be less than zero"};
  if (options.heartbeat_timeout < kShortestHeartbeatTimeout)
    throw Error{ErrorCode::invalid_argument, "the heartbeat timeout must be 100 ms or more"};
  return options.timeout > Duration::zero() ? options.timeout
                                            : config.timeout.value_or(kInitTimeout);
}

runtime::TransportSet checked_transports(const InitOptions& options, const Network* network) {
  if (network == nullptr) return runtime::transports_of(options.transport);
  if (options.transport != "auto" && options.transport != kFastest)
    throw Error{ErrorCode::invalid_argument,
                "with a network of one's own the transport must be auto or fastest"};
  return runtime::TransportSet::any;
}

/// The secret, and the address at which this rank listens.
void read_protection(const InitOptions& options, const runtime::Config& config,
                     runtime::MeshOptions& mesh) {
  mesh.insecure = options.insecure;
  mesh.interface = options.address.empty() ? config.address : options.address;
  if (!mesh.interface.empty()) static_cast<void>(runtime::configured_address(mesh.interface));
  const std::string& file = options.secret_file.empty() ? config.secret_file : options.secret_file;
  if (!file.empty()) mesh.secret = runtime::read_secret(file);
}

Deadline deadline_in(Duration timeout) {
  const Duration now = std::chrono::steady_clock::now().time_since_epoch();
  return Deadline{deadline_after(now, timeout)};
}

void print_warning(std::string_view text) {
  std::fprintf(stderr, "tutti: %.*s\n", static_cast<int>(text.size()), text.data());
}

/// @param network instead of TCP, or beside it; null: TCP alone.
Start start_of(const InitOptions& options, const runtime::Environment& environment,
               std::shared_ptr<Network> network = nullptr) {
  const runtime::Config config = runtime::read_config(environment);
  Start start;
  start.deadline = deadline_in(checked_timeout(options, config));
  if (options.network_megabits < 0)
    throw Error{ErrorCode::invalid_argument, "the network's speed must not be less than zero"};
  runtime::WorldOptions& world = start.world;
  world.transports = checked_transports(options, network.get());
  world.has_tcp_too = network != nullptr && options.transport == kFastest;
  read_protection(options, config, world.mesh);
  world.mesh.agreed = agreed(options, network.get());
  world.network = std::move(network);
  world.links.tls = options.tls;
  world.links.payload_checksum = options.payload_checksum;
  world.links.heartbeat = runtime::heartbeat_settings(options.heartbeat_timeout);
  world.network_megabits = options.network_megabits;
  const std::string& tuning = options.tuning.empty() ? config.tuning : options.tuning;
  world.shared_config = {.tuning = runtime::find_tuning(tuning, environment),
                         .network = options.topology.empty() ? config.topology : options.topology,
                         .unknown = config.unknown,
                         .warn = options.warn ? options.warn : print_warning};
  return start;
}

/// As start_of, for ranks that a channel connects already: if the options or variables of a rank
/// are wrong, all ranks get its error, instead of waiting for it.
Start start_over_channel(const InitOptions& options, std::shared_ptr<Network> network = nullptr) {
  Start start;
  const auto read = [&] {
    start = start_of(options, runtime::process_environment(), std::move(network));
  };
  const std::optional<Error> failure = detail::error_of(detail::callee_of(read));
  if (failure) {
    start = {};
    start.world.failure = failure;
    start.deadline = deadline_in(init_timeout(options.timeout));
  }
  return start;
}

Communicator connect(Channel& channel, const InitOptions& options, const Start& start) {
  return make_communicator(
      runtime::World::connect(channel, start.world, start.deadline)->communicator_parts(),
      make_host_memory(), options.communicator);
}

}  // namespace

Duration init_timeout(Duration given, Duration otherwise) noexcept {
  if (given > Duration::zero()) return given;
  Duration timeout = otherwise;
  const auto read = [&] {
    timeout = runtime::read_config(runtime::process_environment()).timeout.value_or(otherwise);
  };
  static_cast<void>(detail::error_of(detail::callee_of(read)));
  return timeout;
}

Communicator init(const InitOptions& options) {
  const runtime::Environment environment = runtime::process_environment();
  Start start = start_of(options, environment);
  const runtime::Launch launch = runtime::detect_launch(
      environment, {.url = options.url, .rank = options.rank, .size = options.size});
  runtime::MeshOptions& mesh = start.world.mesh;
  runtime::Protection protection{mesh.interface, mesh.secret, mesh.insecure};
  try {
    const std::unique_ptr<Channel> channel =
        runtime::open_channel(launch, protection, start.deadline);
    mesh.secret = protection.secret;
    mesh.master = runtime::meeting_address(launch);
    return connect(*channel, options, start);
  } catch (const Error& error) {
    if (options.rank || error.code() == ErrorCode::invalid_argument) throw;
    throw runtime::with_inherited_launch(error, environment);
  }
}

Result<Communicator> try_init(const InitOptions& options) noexcept {
  return detail::attempt([&] { return init(options); });
}

Communicator init(Channel& channel, const InitOptions& options) {
  return connect(channel, options, start_over_channel(options));
}

Communicator init(Channel& channel, const InitOptions& options, std::shared_ptr<Network> network) {
  return connect(channel, options, start_over_channel(options, std::move(network)));
}

void leave_worlds() noexcept {
  runtime::ProcessLinks::leave_all();
}

CommunicatorParts watch_ranks(Channel& channel, const InitOptions& options) {
  Start start = start_over_channel(options);
  start.world.transports = runtime::TransportSet::none;
  start.world.mesh.secret.reset();  // no network is used
  start.world.mesh.interface.clear();
  return runtime::World::connect(channel, start.world, start.deadline)->communicator_parts();
}

}  // namespace tutti::v0
