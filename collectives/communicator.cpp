#include <tutti/communicator.hpp>

#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/batch.hpp>
#include <tutti/spi/communicator.hpp>

#include "engine.hpp"
#include "select_for.hpp"

namespace tutti::inline v0 {

Communicator make_communicator(Footing footing, std::shared_ptr<Memory> memory,
                               const CommunicatorOptions& options) {
  return Communicator{
      std::make_shared<detail::Engine>(std::move(footing), std::move(memory), options)};
}

Communicator make_communicator(std::unique_ptr<Transport> transport, std::shared_ptr<Memory> memory,
                               const CommunicatorOptions& options) {
  return make_communicator(Footing{std::move(transport), nullptr}, std::move(memory), options);
}

Transport& transport_of(Communicator& communicator) {
  return detail::engine_of(communicator.engine_).transport();
}

void attach_streams(Communicator& communicator, std::shared_ptr<StreamTransport> streams,
                    bool compares) {
  detail::engine_of(communicator.engine_).attach_streams(std::move(streams), compares);
}
std::shared_ptr<StreamTransport> streams_of(Communicator& communicator) {
  return detail::engine_of(communicator.engine_).streams();
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

/// Gives an execution back however the scope is left.
class Acquired {
 public:
  Acquired(detail::Engine& engine, detail::Execution* execution) noexcept
      : engine_{engine}, execution_{execution} {}
  Acquired(const Acquired&) = delete;
  Acquired& operator=(const Acquired&) = delete;
  ~Acquired() {
    if (execution_ != nullptr) engine_.release(execution_);
  }
  detail::Execution* keep() noexcept { return std::exchange(execution_, nullptr); }

 private:
  detail::Engine& engine_;
  detail::Execution* execution_;
};

/// A call that receives from any rank: once a message has come it is one from a rank.
Call with_sender(detail::Engine& engine, Call call, const Options& options) {
  if (call.point_to_point == PointToPoint::recv)
    call.from = engine.await_message(any_rank, call.tag, options.timeout).from;
  return call;
}

/// Starts a call, at once or with the others of this thread's batch.
void start_or_enlist(const std::shared_ptr<detail::Engine>& engine, detail::Execution& execution,
                     const void* in, void* out, const detail::Engine::Enlistment& how) {
  detail::BatchScope* const batch = detail::BatchScope::current();
  if (batch == nullptr) return engine->start(execution, in, out, how.timeout);
  engine->enlist(execution, in, out, how);
  batch->add(engine);
}

}  // namespace

void Communicator::run(const Call& call, const Options& options) {
  const detail::Use use{engine_};
  if (detail::BatchScope::current() == nullptr) {
    if (options.stream.is_some()) return engine_->run_on_stream(call, options);
    if (call.from != any_rank) return engine_->run(call, options);
    return engine_->run(with_sender(*engine_, call, options), options);
  }
  detail::Execution* execution = engine_->acquire(call, options);
  Acquired acquired{*engine_, execution};
  start_or_enlist(engine_, *execution, call.in, call.out,
                  {.timeout = options.timeout, .blocks = true});
  static_cast<void>(acquired.keep());  // the batch's, which waits for it
}

void Communicator::run_now(const Call& call, const Options& options) {
  detail::BatchScope::refuse("a call that returns what it brings");
  run(call, options);
}

Request Async::run(const Call& call, const Options& options) {
  const std::shared_ptr<detail::Engine>& engine = world_->engine_;
  const detail::Use use{engine};
  detail::Execution* execution = engine->acquire(call, options);
  Acquired acquired{*engine, execution};
  start_or_enlist(engine, *execution, call.in, call.out, {.timeout = options.timeout});
  return Request{engine, acquired.keep()};
}

Plan Plans::run(const Call& call, const Options& options) {
  const std::shared_ptr<detail::Engine>& engine = world_->engine_;
  const detail::Use use{engine};
  return Plan{engine, engine->acquire(call, options), call.in, call.out, options.timeout};
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
  const detail::Use use{engine_};
  return engine_->explain(call, options);
}

detail::Selection select_for(Communicator& communicator, const Call& call, const Options& options) {
  const detail::Use use{communicator.engine_};
  return communicator.engine_->select(call, options);
}

Request::Request(std::shared_ptr<detail::Engine> engine, detail::Execution* execution) noexcept
    : engine_{std::move(engine)}, execution_{execution} {}

Request::Request(Request&& other) noexcept
    : engine_{std::move(other.engine_)}, execution_{std::exchange(other.execution_, nullptr)} {}

Request& Request::operator=(Request&& other) noexcept {
  Request taken{std::move(other)};  // ends with what was ours
  std::swap(engine_, taken.engine_);
  std::swap(execution_, taken.execution_);
  return *this;
}

Request::~Request() {
  if (execution_ != nullptr) engine_->drop(execution_);
}

bool Request::test() {
  if (engine_ == nullptr) return true;
  const detail::Use use{engine_};
  if (execution_ == nullptr) return true;
  if (!engine_->progress().test(*execution_)) return false;
  engine_->release(std::exchange(execution_, nullptr));
  return true;
}

void Request::wait() {
  if (engine_ == nullptr) return;
  const detail::Use use{engine_};
  if (execution_ == nullptr) return;
  engine_->progress().wait(*execution_);
  engine_->release(std::exchange(execution_, nullptr));
}

Result<bool> Request::try_test() noexcept {
  return detail::attempt([this] { return test(); });
}
Result<void> Request::try_wait() noexcept {
  return detail::attempt([this] { wait(); });
}

Plan::Plan(std::shared_ptr<detail::Engine> engine, detail::Execution* execution, const void* in,
           void* out, Duration timeout) noexcept
    : engine_{std::move(engine)}, execution_{execution}, in_{in}, out_{out}, timeout_{timeout} {}

Plan::Plan(Plan&& other) noexcept
    : engine_{std::move(other.engine_)}, execution_{std::exchange(other.execution_, nullptr)},
      in_{other.in_}, out_{other.out_}, timeout_{other.timeout_} {}

Plan& Plan::operator=(Plan&& other) noexcept {
  Plan taken{std::move(other)};  // ends with what was ours
  std::swap(engine_, taken.engine_);
  std::swap(execution_, taken.execution_);
  in_ = taken.in_;
  out_ = taken.out_;
  timeout_ = taken.timeout_;
  return *this;
}

Plan::~Plan() {
  if (execution_ != nullptr) engine_->drop(execution_);
}

void Plan::start() {
  start(in_, out_);
}

void Plan::start(const void* in, void* out) {
  if (execution_ == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "the plan is empty, because it was moved from; start the one it was moved to"};
  const detail::Use use{engine_};
  if (!execution_->done() || execution_->is_enlisted())
    throw Error{ErrorCode::invalid_argument,
                "the plan is running; wait for it before starting again"};
  start_or_enlist(engine_, *execution_, in, out, {.timeout = timeout_});
}

bool Plan::test() {
  if (execution_ == nullptr) return true;
  const detail::Use use{engine_};
  return engine_->progress().test(*execution_);
}
void Plan::wait() {
  if (execution_ == nullptr) return;
  const detail::Use use{engine_};
  engine_->progress().wait(*execution_);
}
Result<void> Plan::try_start() noexcept {
  return detail::attempt([this] { start(); });
}
Result<void> Plan::try_start(const void* in, void* out) noexcept {
  return detail::attempt([&] { start(in, out); });
}
Result<bool> Plan::try_test() noexcept {
  return detail::attempt([this] { return test(); });
}
Result<void> Plan::try_wait() noexcept {
  return detail::attempt([this] { wait(); });
}

const std::string& Plan::algorithm() const noexcept {
  static const std::string none{};
  return execution_ == nullptr ? none : execution_->binding().algorithm;
}
std::size_t Plan::segment() const noexcept {
  return execution_ == nullptr ? 0 : execution_->binding().segment_bytes;
}

}  // namespace tutti::inline v0
