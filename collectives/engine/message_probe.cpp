// Probes for messages that no call receives yet.
#include <string>

#include <tutti/communicator.hpp>

#include <tutti/batch.hpp>

#include "collectives/binding/check_call.hpp"
#include "collectives/binding/point_to_point.hpp"

#include "engine.hpp"

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

std::string words_of_sender(Rank from) {
  return from == any_rank ? std::string{"any rank"} : "rank " + std::to_string(from);
}

}  // namespace

std::optional<Arrival> HostCalls::probe(Rank from, int tag) {
  diagnosis_.failures().check();
  check_probe(from, tag, diagnosis_.order().user_tags(), progress_.transport().size());
  progress_.poll();
  if (!progress_.tasks().empty()) progress_.advance_tasks();
  try {
    const auto found = progress_.transport().probe(from, diagnosis_.order().tag_of_message(tag));
    if (!found) return std::nullopt;
    return Arrival{.from = found->from, .tag = tag, .bytes = found->bytes};
  } catch (...) {
    diagnosis_.failures().fail_as_caught();
  }
}

Arrival HostCalls::await_message(Rank from, int tag, Duration timeout) {
  if (timeout < Duration::zero()) check_timeout("probe", timeout);
  if (timeout == Duration::zero()) timeout = progress_.options().timeout;
  Transport& transport = progress_.transport();
  const Duration deadline = deadline_after(transport.now(), timeout);
  for (IdleBackoff backoff;;) {
    if (const auto found = probe(from, tag)) {
      progress_.end_reports();
      return *found;
    }
    const Duration now = transport.now();
    progress_.look_after(now);
    if (now >= deadline)
      diagnosis_.failures().fail({ErrorCode::timeout,
                                  "probe timed out on rank " + std::to_string(transport.self()) +
                                      ": no message with tag " + std::to_string(tag) +
                                      " came from " + words_of_sender(from),
                                  from});
    // A message that no operation waits for wakes no thread.
    progress_.pause(backoff, false);
  }
}

}  // namespace detail

Arrival Communicator::probe(Rank from, int tag, const Options& options) {
  detail::BatchScope::reject("a probe");
  const detail::CallGuard use{engine_};
  return engine_->calls().await_message(from, tag, options.timeout);
}

std::optional<Arrival> Communicator::probe_now(Rank from, int tag) {
  detail::BatchScope::reject("a probe");
  const detail::CallGuard use{engine_};
  return engine_->calls().probe(from, tag);
}

}  // namespace tutti::v0
