// Waits and tests of several requests.
#include <tutti/request.hpp>

#include <exception>

#include "engine.hpp"
#include "idle_backoff.hpp"

namespace tutti::v0 {
namespace detail {

/// Steps of a wait for several requests. A step polls each communicator once.
struct Requests {
  /// The result of a step.
  struct Step {
    std::optional<std::size_t> ended{};                // the first request that has ended
    const std::shared_ptr<Engine>* waiting = nullptr;  // the engine of a pending request
    const StreamExecution* streamed = nullptr;         // that request's call, if it is on a stream
    bool moved = false;
  };

  static void end(Request& request) {
    Execution& execution = *std::exchange(request.execution_, nullptr);
    const Release release{*request.engine_, execution};
    request.engine_->progress().unmatched().look_after(execution);
  }

  /// @param until_first whether to stop at the first request that has ended.
  static Step step(std::span<Request> requests, bool until_first) {
    Step result;
    const Engine* polled = nullptr;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request& request = requests[i];
      if (request.is_empty()) continue;
      const CallGuard use{request.engine_};
      Engine& engine = *request.engine_;
      if (request.streamed_ != nullptr) {
        if (!engine.streamed().test(*request.streamed_)) {
          result.waiting = &request.engine_;
          result.streamed = request.streamed_.get();
          continue;
        }
        request.streamed_.reset();
        if (!result.ended) result.ended = i;
        if (until_first) return result;
        continue;
      }
      if (!request.execution_->done() && &engine != polled) {
        polled = &engine;
        result.moved = engine.progress().step(*request.execution_) || result.moved;
      }
      if (!request.execution_->done()) {
        if (result.streamed == nullptr) result.waiting = &request.engine_;
        continue;
      }
      end(request);
      if (!result.ended) result.ended = i;
      if (until_first) return result;
    }
    return result;
  }

  /// Waits until a request has ended, unless all are empty.
  static Step wait(std::span<Request> requests, bool until_first) {
    const StreamCalls::Clock::time_point begin = StreamCalls::Clock::now();
    IdleBackoff backoff;
    for (int looks = 0;; ++looks) {
      const Step made = step(requests, until_first);
      if (made.ended || made.waiting == nullptr) return made;
      if (made.streamed != nullptr) {  // the end of a call on a stream wakes no thread
        const CallGuard use{*made.waiting};
        (*made.waiting)->streamed().pause(*made.streamed, begin, looks);
        continue;
      }
      if (made.moved) {
        backoff.end();
        continue;
      }
      // A sleep in the transport is a call of the transport, so the progress thread must be out.
      const CallGuard use{*made.waiting};
      (*made.waiting)->progress().pause(backoff);
    }
  }

 private:
  /// Gives an execution back at the end of the scope, also after an exception.
  struct Release {
    Engine& engine;
    Execution& execution;
    ~Release() { engine.calls().release(&execution); }
  };
};

}  // namespace detail

void wait_all(std::span<Request> requests) {
  std::exception_ptr first;
  const auto drop_failed = [&] {  // requests of a failed communicator never end
    for (Request& request : requests)
      if (!request.is_empty())
        if (const auto result = request.try_test(); !result) request = Request{};
  };
  for (bool is_over = false; !is_over;) {
    try {
      is_over = detail::Requests::wait(requests, false).waiting == nullptr;
    } catch (...) {
      if (!first) first = std::current_exception();
      drop_failed();
    }
  }
  if (first) std::rethrow_exception(first);
}

std::optional<std::size_t> wait_any(std::span<Request> requests) {
  return detail::Requests::wait(requests, true).ended;
}

bool test_all(std::span<Request> requests) {
  return detail::Requests::step(requests, false).waiting == nullptr;
}

std::optional<std::size_t> test_any(std::span<Request> requests) {
  return detail::Requests::step(requests, true).ended;
}

}  // namespace tutti::v0
