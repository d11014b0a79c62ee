// Handles of started calls, and of calls that run repeatedly.
#include <tutti/request.hpp>

#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/batch.hpp>

#include "engine.hpp"
#include "start_or_enlist.hpp"

namespace tutti::v0 {

Request::Request(std::shared_ptr<detail::Engine> engine, detail::Execution* execution) noexcept
    : engine_{std::move(engine)}, execution_{execution} {}

Request::Request(std::shared_ptr<detail::Engine> engine,
                 std::shared_ptr<detail::StreamExecution> call) noexcept
    : engine_{std::move(engine)}, streamed_{std::move(call)} {}

Request::Request(Request&& other) noexcept
    : engine_{std::move(other.engine_)},
      execution_{std::exchange(other.execution_, nullptr)}, streamed_{std::move(other.streamed_)} {}

Request& Request::operator=(Request&& other) noexcept {
  Request source{std::move(other)};  // its destructor ends the old request
  std::swap(engine_, source.engine_);
  std::swap(execution_, source.execution_);
  std::swap(streamed_, source.streamed_);
  return *this;
}

Request::~Request() {
  if (execution_ != nullptr) engine_->drop(execution_);
}

bool Request::test() {
  if (engine_ == nullptr) return true;
  const detail::CallGuard use{engine_};
  if (streamed_ != nullptr) {
    if (!engine_->streamed().test(*streamed_)) return false;
    streamed_.reset();
  }
  if (execution_ == nullptr) return true;
  detail::Execution& execution = *execution_;
  const bool is_done = engine_->progress().test(execution);
  if (execution.is_dropped()) return true;  // by an operator, with this handle
  if (is_done) engine_->calls().release(std::exchange(execution_, nullptr));
  return is_done;
}

void Request::wait() {
  if (engine_ == nullptr) return;
  const detail::CallGuard use{engine_};
  if (streamed_ != nullptr) {
    engine_->streamed().wait(*streamed_);
    streamed_.reset();
  }
  if (execution_ == nullptr) return;
  detail::Execution& execution = *execution_;
  engine_->progress().wait(execution);
  if (execution.is_dropped()) return;  // by an operator, with this handle
  engine_->calls().release(std::exchange(execution_, nullptr));
}

void Request::notify(int eventfd) {
  if (streamed_ != nullptr)
    throw Error{ErrorCode::invalid_argument,
                "Request::notify is for calls of the host; a stream has events of its own"};
  if (eventfd >= 0) check_eventfd(eventfd);
  if (execution_ == nullptr) {
    if (eventfd >= 0) signal_eventfd(eventfd);
    return;
  }
  const detail::CallGuard use{engine_};
  engine_->notify(execution_->notice(), execution_->done(), eventfd, "Request::notify");
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

Plan::Plan(std::shared_ptr<detail::Engine> engine,
           std::shared_ptr<detail::StreamExecution> call) noexcept
    : engine_{std::move(engine)}, streamed_{std::move(call)}, in_{streamed_->buffers().in},
      out_{streamed_->buffers().out} {}

Plan::Plan(Plan&& other) noexcept
    : engine_{std::move(other.engine_)},
      execution_{std::exchange(other.execution_, nullptr)}, streamed_{std::move(other.streamed_)},
      in_{other.in_}, out_{other.out_}, timeout_{other.timeout_} {}

Plan& Plan::operator=(Plan&& other) noexcept {
  Plan source{std::move(other)};  // its destructor ends the old plan
  std::swap(engine_, source.engine_);
  std::swap(execution_, source.execution_);
  std::swap(streamed_, source.streamed_);
  in_ = source.in_;
  out_ = source.out_;
  timeout_ = source.timeout_;
  return *this;
}

Plan::~Plan() {
  if (execution_ != nullptr) engine_->drop(execution_);
}

void Plan::start() {
  start(in_, out_);
}

/// The previous run may still be pending: runs follow each other on their stream.
void Plan::start_streamed(const void* in, void* out) {
  const detail::CallGuard use{engine_};
  if (streamed_->is_enlisted())
    throw Error{ErrorCode::invalid_argument,
                "the plan is in a batch that has not started yet; start it again after the batch"};
  streamed_->set_buffers({in, out});
  detail::start_or_enlist(engine_, streamed_, false);
}

void Plan::start(const void* in, void* out) {
  if (streamed_ != nullptr) return start_streamed(in, out);
  if (execution_ == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "the plan is empty, because it was moved from; start the one it was moved to"};
  const detail::CallGuard use{engine_};
  if (!execution_->done() || execution_->is_enlisted())
    throw Error{ErrorCode::invalid_argument,
                "the plan is running; wait for it before starting again"};
  if ((in != in_ || out != out_) && engine_->has_streams())
    engine_->streamed().check_on_host(execution_->binding().layout(), in, out);
  detail::start_or_enlist(engine_, *execution_, in, out, {.timeout = timeout_});
}

bool Plan::test() {
  if (is_empty()) return true;
  const detail::CallGuard use{engine_};
  if (streamed_ != nullptr) return engine_->streamed().test(*streamed_);
  return engine_->progress().test(*execution_);
}
void Plan::wait() {
  if (is_empty()) return;
  const detail::CallGuard use{engine_};
  if (streamed_ != nullptr) return engine_->streamed().wait(*streamed_);
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
  if (streamed_ != nullptr) return streamed_->binding().algorithm;
  return execution_ == nullptr ? none : execution_->binding().algorithm;
}
bool Plan::is_empty() const noexcept {
  return execution_ == nullptr && streamed_ == nullptr;
}
std::size_t Plan::segment() const noexcept {
  return execution_ == nullptr ? 0 : execution_->binding().segment_bytes;
}

}  // namespace tutti::v0
