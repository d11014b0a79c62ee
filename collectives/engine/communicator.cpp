#include <tutti/communicator.hpp>

#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/batch.hpp>
#include <tutti/spi/communicator.hpp>

#include "collectives/binding/point_to_point.hpp"
#include "collectives/binding/select_for.hpp"

#include "engine.hpp"
#include "start_or_enlist.hpp"

namespace tutti::v0 {

Communicator make_communicator(CommunicatorParts communicator_parts, std::shared_ptr<Memory> memory,
                               const CommunicatorOptions& options) {
  return Communicator{std::shared_ptr<detail::Engine>{
      new detail::Engine(std::move(communicator_parts), std::move(memory), options),
      detail::Engine::end}};
}

Communicator make_communicator(std::unique_ptr<Transport> transport, std::shared_ptr<Memory> memory,
                               const CommunicatorOptions& options) {
  return make_communicator(CommunicatorParts{std::move(transport), nullptr}, std::move(memory),
                           options);
}

Group* group_of(Communicator& communicator) {
  const detail::Engine& engine = detail::engine_of(communicator.engine_);
  return engine.has_group() ? &engine.group() : nullptr;
}

Transport& transport_of(Communicator& communicator) {
  return detail::engine_of(communicator.engine_).transport();
}

const std::vector<int>& hosts_of(Communicator& communicator) {
  return detail::engine_of(communicator.engine_).hosts();
}

void attach_streams(Communicator& communicator, std::shared_ptr<StreamTransport> streams,
                    bool compares) {
  const detail::CallGuard use{communicator.engine_};
  communicator.engine_->attach_streams(std::move(streams), compares);
}
std::shared_ptr<StreamTransport> streams_of(Communicator& communicator) {
  const detail::Engine& engine = detail::engine_of(communicator.engine_);
  return engine.has_streams() ? engine.streamed().transport() : nullptr;
}

void wait_for_stream(Communicator& communicator, Stream stream, Duration timeout) {
  const detail::CallGuard use{communicator.engine_};
  communicator.engine_->streamed().wait_for_stream(stream, timeout);
}

Error fail_as_caught(Communicator& communicator) noexcept {
  return detail::attempt([&] {
           const detail::CallGuard use{communicator.engine_};
           communicator.engine_->failures().fail_as_caught();
         })
      .error();
}

void detail::raise_as_one(Communicator& communicator) {
  try {
    throw;
  } catch (const Error&) {
    throw;
  } catch (...) {
    throw fail_as_caught(communicator);
  }
}

void call_within(Communicator& communicator, const std::function<void()>& function) {
  const detail::CallGuard use{communicator.engine_};
  function();
}

SoleCaller::SoleCaller(Communicator& communicator) : engine_{communicator.engine_} {
  const detail::CallGuard use{engine_};
  engine_->keep();
}

/// It succeeds, since the engine is kept for this thread.
SoleCaller::~SoleCaller() {
  const detail::CallGuard use{engine_};
  engine_->let_go();
}

Communicator::Communicator(std::shared_ptr<detail::Engine> engine) noexcept
    : engine_{std::move(engine)} {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Rank Communicator::rank() const noexcept {
  return engine_ ? engine_->transport().self() : -1;
}
int Communicator::size() const noexcept {
  return engine_ ? engine_->transport().size() : 0;
}

namespace {

/// Gives an execution back at the end of the scope, also after an exception.
class Acquired {
 public:
  Acquired(detail::Engine& engine, detail::Execution* execution) noexcept
      : engine_{engine}, execution_{execution} {}
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;
  ~Acquired() {
    if (execution_ != nullptr) engine_.calls().release(execution_);
  }
  detail::Execution* keep() noexcept { return std::exchange(execution_, nullptr); }

 private:
  detail::Engine& engine_;
  detail::Execution* execution_;
};

/// Waits for a message to a receive from any rank. @return the call with that message's sender.
Call with_sender(detail::Engine& engine, Call call, const Options& options) {
  if (call.point_to_point != PointToPoint::recv) return call;
  call.from = 0;  // a valid rank, so that the check finds only other errors
  detail::check_point_to_point(call, options, engine.transport().size());
  call.from = engine.calls().await_message(any_rank, call.tag, options.timeout).from;
  return call;
}

void run_streamed(const std::shared_ptr<detail::Engine>& engine, const Call& call,
                  const Options& options) {
  if (detail::BatchScope::current() == nullptr) return engine->streamed().run(call, options);
  const auto bound = engine->streamed().acquire(call, options);
  detail::start_or_enlist(engine, bound, bound->is_awaited());
}

}  // namespace

void Communicator::run(const Call& call, const Options& options) {
  const detail::CallGuard use{engine_};
  if (options.stream.is_some()) return run_streamed(engine_, call, options);
  engine_->check_on_host(call);
  if (detail::BatchScope::current() == nullptr) {
    if (call.from != any_rank) return engine_->calls().run(call, options);
    return engine_->calls().run(with_sender(*engine_, call, options), options);
  }
  detail::Execution* execution = engine_->calls().acquire(call, options);
  Acquired acquired{*engine_, execution};
  detail::start_or_enlist(engine_, *execution, call.in, call.out,
                          {.timeout = options.timeout, .blocks = true});
  static_cast<void>(acquired.keep());  // the batch owns it, and waits for it
}

void Communicator::run_now(const Call& call, const Options& options) {
  detail::BatchScope::reject("a call that returns its result");
  run(call, options);
}

Request Async::run(const Call& call, const Options& options) {
  const std::shared_ptr<detail::Engine> engine = world_->engine_;  // an operator may end world_
  const detail::CallGuard use{engine};
  if (options.stream.is_some()) {
    auto bound = engine->streamed().acquire(call, options);
    bound->set_awaited();
    detail::start_or_enlist(engine, bound, false);
    return Request{engine, std::move(bound)};
  }
  engine->check_on_host(call);
  detail::Execution* execution = engine->calls().acquire(call, options);
  Acquired acquired{*engine, execution};
  detail::start_or_enlist(engine, *execution, call.in, call.out, {.timeout = options.timeout});
  return Request{engine, acquired.keep()};
}

Plan Plans::run(const Call& call, const Options& options) {
  const std::shared_ptr<detail::Engine>& engine = world_->engine_;
  const detail::CallGuard use{engine};
  if (options.stream.is_some()) {
    auto bound = engine->streamed().acquire(call, options);
    bound->set_awaited();
    return Plan{engine, std::move(bound)};
  }
  engine->check_on_host(call);
  return Plan{engine, engine->calls().acquire_plan(call, options), call.in, call.out,
              options.timeout};
}

Result<void> Try::run(const Call& call, const Options& options) noexcept {
  return detail::attempt([&] { world_->run(call, options); });
}

Result<Request> Try::start(const Call& call, const Options& options) noexcept {
  return detail::attempt([&] { return world_->async().run(call, options); });
}

Result<Plan> Try::plan(const Call& call, const Options& options) noexcept {
  return detail::attempt([&] { return world_->plan().run(call, options); });
}

std::string Communicator::explain(const Call& call, const Options& options) {
  const detail::CallGuard use{engine_};
  if (call.point_to_point != PointToPoint::none) {
    detail::check_point_to_point(call, options, size());
    return detail::words_of(detail::bind_point_to_point(call), call.tag) +
           ": one message, without an algorithm";
  }
  const detail::Problem problem = engine_->binder().problem_of(call, options);
  return std::string{name_of(call.collective)} + " of " + std::to_string(problem.bytes()) +
         " bytes on " + std::to_string(size()) + " ranks: " +
         (options.stream.is_some() ? engine_->streamed().selector().explain(problem)
                                   : engine_->binder().select(problem).explain());
}

detail::Selection select_for(Communicator& communicator, const Call& call, const Options& options) {
  const detail::CallGuard use{communicator.engine_};
  detail::Engine& engine = *communicator.engine_;
  const detail::Problem problem = engine.binder().problem_of(call, options);
  return options.stream.is_some() ? engine.streamed().selector().select(problem)
                                  : engine.binder().select(problem);
}

}  // namespace tutti::v0
