// Messages that nobody receives yet.
#include <chrono>
#include <string>
#include <thread>

#include <tutti/communicator.hpp>

#include <tutti/batch.hpp>

#include "check_call.hpp"
#include "engine.hpp"
#include "point_to_point.hpp"

namespace tutti::v0 {
namespace detail {
namespace {

void check_probe(Rank from, int tag, std::uint32_t tags, int size) {
  if (from != any_rank && (from < 0 || from >= size))
    throw Error{ErrorCode::invalid_argument,
                "probe: rank " + std::to_string(from) +
                    " is not in this communicator; expected any_rank, or 0 .. " +
                    std::to_string(size - 1)};
  if (tag < 0 || static_cast<std::uint32_t>(tag) >= tags)
    throw Error{ErrorCode::invalid_argument, "probe: the tag is " + std::to_string(tag) +
                                                 "; expected 0 .. " + std::to_string(tags - 1)};
}

/// A message that no operation waits for does not wake a thread that dozes in its transport.
class ProbeIdleness {
 public:
  ProbeIdleness(int spins, bool drives) noexcept : spins_{spins}, drives_{drives} {}
  /// @return whether others had the core meanwhile.
  bool advance() {
    if (spins_ > -kYields) --spins_;
    if (spins_ >= 0) return false;
    if (drives_ || spins_ > -kYields) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds{20});
    return true;
  }

 private:
  static constexpr int kYields = 200;
  int spins_;
  bool drives_;
};

std::string words_of_sender(Rank from) {
  return from == any_rank ? std::string{"any rank"} : "rank " + std::to_string(from);
}

}  // namespace

std::optional<Arrival> Engine::probe(Rank from, int tag) {
  failures_.check();
  check_probe(from, tag, order_.user_tags(), transport_->size());
  progress_.poll();
  if (!progress_.tasks().empty()) progress_.advance_tasks();
  try {
    const auto found = transport_->probe(from, order_.tag_of_message(tag));
    if (!found) return std::nullopt;
    return Arrival{.from = found->from, .tag = tag, .bytes = found->bytes};
  } catch (...) {
    failures_.fail_as_caught();
  }
}

Arrival Engine::await_message(Rank from, int tag, Duration timeout) {
  if (timeout < Duration::zero()) check_timeout("probe", timeout);
  if (timeout == Duration::zero()) timeout = options_.timeout;
  const Duration deadline = deadline_after(transport_->now(), timeout);
  ProbeIdleness idleness{transport_->capabilities().idle_spins, progress_.drives_others()};
  for (;;) {
    if (const auto found = probe(from, tag)) {
      progress_.end_told_waits();
      return *found;
    }
    const Duration now = transport_->now();
    progress_.look_after(now);
    if (now >= deadline)
      failures_.fail({ErrorCode::timeout,
                      "probe timed out on rank " + std::to_string(transport_->self()) +
                          ": no message with tag " + std::to_string(tag) + " came from " +
                          words_of_sender(from),
                      from});
    if (idleness.advance()) progress_.end_yield();
  }
}

}  // namespace detail

Arrival Communicator::probe(Rank from, int tag, const Options& options) {
  detail::BatchScope::reject("a probe");
  const detail::CallGuard use{engine_};
  return engine_->await_message(from, tag, options.timeout);
}

std::optional<Arrival> Communicator::probe_now(Rank from, int tag) {
  detail::BatchScope::reject("a probe");
  const detail::CallGuard use{engine_};
  return engine_->probe(from, tag);
}

}  // namespace tutti::v0
