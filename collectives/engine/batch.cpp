#include <tutti/batch.hpp>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tutti/spi/per_thread.hpp>

#include "collectives/binding/check_call.hpp"

#include "engine.hpp"
#include "idle_backoff.hpp"

namespace tutti::v0::detail {
namespace {

/// The batch of this thread, an object on its stack, or null. See BatchScope.
thread_local BatchScope* gathering = nullptr;

/// Keeps the first exception of several communicators. The others continue.
class FirstError {
 public:
  template <class Action>
  void attempt(const Action& action) {
    try {
      action();
    } catch (...) {
      if (!error_) error_ = std::current_exception();
    }
  }
  void raise() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_{};
};

/// Waits for the calls of several communicators, and polls them by turns. The thread sleeps in one
/// of them, for its idle_wait at most, since the others would not wake it.
void wait_for_all(Engine* first, FirstError& errors) {
  IdleBackoff backoff;
  for (bool is_over = false; !is_over;) {
    is_over = true;
    bool moved = false;
    Engine* waiting = nullptr;
    for (Engine* engine = first; engine != nullptr; engine = engine->next_in_batch.get())
      errors.attempt([&] {
        if (!engine->batch().has_awaited()) return;
        is_over = false;
        waiting = engine;
        moved = engine->batch().step_awaited() || moved;
      });
    if (is_over) return;
    if (moved) backoff.end();
    else waiting->progress().pause(backoff);
  }
}

/// Memory that a call of the batch reads or writes.
struct TouchedRange {
  const std::byte* begin;
  const std::byte* end;
  const Execution* call;
  bool is_written;
};

struct TouchedRanges {
  std::vector<TouchedRange> all{};
  std::vector<TouchedRange> open{};  // ranges that contain the begin of the current one
};

void add_range(std::vector<TouchedRange>& ranges, std::span<const std::byte> bytes,
               const Execution& call, bool is_written) {
  if (!bytes.empty())
    ranges.push_back({bytes.data(), bytes.data() + bytes.size(), &call, is_written});
}

/// Rejects a batch if a call touches memory that another one writes: they run at the same time, so
/// results would depend on timing. The lists keep their memory for the thread's next batch.
void check_apart(Engine* first) {
  TouchedRanges& touched = PerThread<TouchedRanges>::get();
  std::vector<TouchedRange>& ranges = touched.all;
  std::vector<TouchedRange>& open = touched.open;
  ranges.clear();
  open.clear();
  for (Engine* engine = first; engine != nullptr; engine = engine->next_in_batch.get())
    engine->batch().for_each([&ranges](const Execution& call, const TouchedBytes& bytes) {
      add_range(ranges, bytes.read, call, false);
      add_range(ranges, bytes.written, call, true);
    });
  std::ranges::sort(ranges, std::less{}, &TouchedRange::begin);
  for (const TouchedRange& range : ranges) {
    std::erase_if(open, [&](const TouchedRange& other) { return other.end <= range.begin; });
    for (const TouchedRange& other : open)
      if (other.call != range.call && (other.is_written || range.is_written))
        throw Error{ErrorCode::invalid_argument,
                    "batch: " + std::string{other.call->binding().name} + " and " +
                        std::string{range.call->binding().name} +
                        " use the same memory, and one of them writes to it; expected arrays that "
                        "do not overlap, since calls of a batch run at the same time"};
    open.push_back(range);
  }
}

}  // namespace

BatchScope::BatchScope() {
  reject("another batch");
  gathering = this;
}

BatchScope::~BatchScope() {
  if (gathering == this) gathering = nullptr;
  if (!is_running_) enter();
  while (first_ != nullptr) {
    const std::shared_ptr<Engine> engine = std::move(first_);
    first_ = std::exchange(engine->next_in_batch, nullptr);
    engine->batch().end();
    if (engine->has_streams()) engine->streamed().end_batch();
    engine->let_go();
    engine->leave();
  }
}

BatchScope* BatchScope::current() noexcept {
  return gathering;
}

void BatchScope::reject(std::string_view what) {
  if (gathering != nullptr)
    throw Error{ErrorCode::invalid_argument,
                std::string{what} + " cannot be in a batch, whose calls have not started yet"};
}

void BatchScope::add(const std::shared_ptr<Engine>& engine) noexcept {
  if (engine->next_in_batch != nullptr || engine.get() == last_) return;
  if (last_ == nullptr) first_ = engine;
  else last_->next_in_batch = engine;
  last_ = engine.get();
  last_->keep();
}

/// Enters all engines. It succeeds, since add() has kept them for this thread.
void BatchScope::enter() {
  for (Engine* engine = first_.get(); engine != nullptr; engine = engine->next_in_batch.get())
    engine->enter();
}

void BatchScope::run() {
  check_apart(first_.get());
  gathering = nullptr;
  enter();
  is_running_ = true;
  FirstError errors;
  for (Engine* engine = first_.get(); engine != nullptr; engine = engine->next_in_batch.get())
    errors.attempt([engine] {
      engine->batch().start();
      if (engine->has_streams()) engine->streamed().start_enlisted();
    });
  if (first_ != nullptr && first_.get() == last_)
    errors.attempt([this] { first_->batch().wait_awaited(); });
  else wait_for_all(first_.get(), errors);
  for (Engine* engine = first_.get(); engine != nullptr; engine = engine->next_in_batch.get())
    errors.attempt([engine] {
      if (engine->has_streams()) engine->streamed().wait_awaited();
    });
  errors.raise();
}

}  // namespace tutti::v0::detail
