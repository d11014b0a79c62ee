#include "engine.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <tutti/spi/fingerprint.hpp>

#include "collectives/binding/check_call.hpp"

namespace tutti::v0::detail {
namespace {

std::vector<std::string> transports_of(const Transport& transport) {
  const Capabilities& can = transport.capabilities();
  return can.transports.empty() ? std::vector<std::string>{can.name} : can.transports;
}

/// @return a cost model of each transport: the assumed one if none is known.
std::vector<CostModel> cost_models_of(CommunicatorParts& parts, std::size_t transports) {
  std::vector<CostModel> cost_models{std::move(parts.cost_model)};
  std::ranges::move(parts.other_cost_models, std::back_inserter(cost_models));
  cost_models.resize(transports);
  return cost_models;
}

Selectors selectors_of(CommunicatorParts& parts, const Transport& transport,
                       const CommunicatorOptions& options) {
  const std::vector<std::string> transports = transports_of(transport);
  return {
      cost_models_of(parts, transports.size()),
      transports,
      options.catalog,
      {std::move(parts.hosts), std::move(parts.localities), {}, std::move(parts.shared_config)}};
}

}  // namespace

void reject_empty() {
  throw Error{ErrorCode::invalid_argument, "the communicator is empty, because it was moved from"};
}

Engine::Engine(CommunicatorParts parts, std::shared_ptr<Memory> memory,
               const CommunicatorOptions& options)
    : group_{std::move(parts.group)}, transport_{std::move(parts.transport)},
      memory_{std::move(memory)}, options_{options}, hosts_{parts.hosts},
      diagnosis_{*transport_,
                 parts.calls ? std::move(parts.calls) : std::make_shared<CallCounter>(),
                 group_.get(), std::move(parts.failure_signal)},
      binder_{*transport_, *memory_, diagnosis_.counter(), options_,
              selectors_of(parts, *transport_, options_)},
      payloads_{options.cache_bytes, group_.get()}, progress_{*transport_, diagnosis_, options_},
      calls_{binder_, diagnosis_, progress_}, batch_{calls_} {
  check_options();
  if (options_.progress_thread) start_progress_thread();
}

void Engine::check_options() {
  if (options_.segments_in_flight < 1 || options_.segments_in_flight > 8)
    throw Error{ErrorCode::invalid_argument, "segments_in_flight is " +
                                                 std::to_string(options_.segments_in_flight) +
                                                 ", expected 1 .. 8"};
  if (options_.timeout <= Duration::zero())
    throw Error{ErrorCode::invalid_argument,
                "the timeout is " + std::to_string(options_.timeout.count()) +
                    " ns; expected more than zero, or Duration::max() for no limit"};
  check_enumerator("the communicator", "determinism", static_cast<int>(options_.determinism),
                   kDeterminisms);
  for (const auto& [collective, algorithm] : options_.algorithms)
    static_cast<void>(options_.catalog ? parse_choice(*options_.catalog, collective, algorithm)
                                       : parse_choice(collective, algorithm));
  binder_.check_transport(options_.transport);
  if (options_.progress_thread) check_threads("CommunicatorOptions::progress_thread");
  if (options_.accepts_shorter && !transport_->capabilities().shorter)
    throw Error{ErrorCode::invalid_argument,
                "CommunicatorOptions::accepts_shorter needs a transport that lets a message be "
                "shorter than its receive, such as shm or tcp; this one is '" +
                    transport_->capabilities().name + "'"};
}

/// Throws if the transport allows no progress thread. @param wish the function or option that needs
/// one.
void Engine::check_threads(const char* wish) const {
  if (!transport_->capabilities().threads)
    throw Error{ErrorCode::invalid_argument,
                std::string{wish} + " calls the transport '" + transport_->capabilities().name +
                    "' from a thread of its own, which it does not allow: an MPI needs "
                    "MPI_THREAD_MULTIPLE; start it by MPI_Init_thread"};
}

Group& Engine::group() const {
  if (group_ == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "a communicator made from a transport alone cannot make groups"};
  return *group_;
}

void Engine::attach_streams(std::shared_ptr<StreamTransport> streams, bool compares) {
  expects(streams != nullptr, "there are streams to attach");
  if (streamed_)
    throw Error{ErrorCode::invalid_argument,
                "a GPU is attached to this communicator already; duplicate one that has none"};
  streamed_ = std::make_unique<StreamCalls>(std::move(streams), compares, hosts_, calls_);
}

StreamCalls& Engine::streamed() const {
  if (streamed_ != nullptr) return *streamed_;
  throw Error{
      ErrorCode::invalid_argument,
      "this communicator runs nothing on streams; attach a GPU to it by tutti::cuda::attach"};
}

}  // namespace tutti::v0::detail
