#include "engine.hpp"

#include <algorithm>
#include <new>

#include <tutti/spi/fingerprint.hpp>

#include "bind_shape.hpp"
#include "objects.hpp"
#include "point_to_point.hpp"

namespace tutti::inline v0::detail {
namespace {

/// Polls from one look at the clock to the next, where a poll is so short that reading it would
/// count.
constexpr int kPollsPerClock = 32;

/// Calls from the oldest pending one to the newest that has started; later ones wait. Their tags
/// are used again in turn, so that a message that was never received, as after a disagreement about
/// the root, meets a later call and is found to be wrong, where find_strays did not find it before.
constexpr std::uint32_t kWindow = 64;

Options with_level(Options options, Determinism level) {
  if (!options.determinism) options.determinism = level;
  return options;
}

}  // namespace

void refuse_empty() {
  throw Error{ErrorCode::invalid_argument, "the communicator is empty, because it was moved from"};
}

Engine::Entry::Entry(const ShapeKey& shape)
    : key{shape}, algorithm{shape.algorithm}, counts{shape.counts.begin(), shape.counts.end()},
      in_counts{shape.own.in.begin(), shape.own.in.end()},
      out_counts{shape.own.out.begin(), shape.own.out.end()}, hash{shape.hash()} {
  key.algorithm = algorithm;
  key.counts = counts;
  key.own = {in_counts, out_counts};
}

Engine::Engine(Footing footing, std::shared_ptr<Memory> memory, const CommunicatorOptions& options)
    : group_{std::move(footing.group)}, calls_{footing.calls ? std::move(footing.calls)
                                                             : std::make_shared<CallCounter>()},
      alarm_{std::move(footing.alarm)}, transport_{std::move(footing.transport)},
      outbox_{*transport_}, memory_{std::move(memory)}, options_{options},
      selector_{std::move(footing.tariff), options.catalog, std::move(footing.hosts)},
      scratch_{*memory_, options.cache_bytes}, hook_{static_cast<bool>(options.progress)} {
  if (options_.segments_in_flight < 1 || options_.segments_in_flight > 8)
    throw Error{ErrorCode::invalid_argument, "segments_in_flight is " +
                                                 std::to_string(options_.segments_in_flight) +
                                                 ", expected 1 .. 8"};
  if (options_.timeout <= Duration::zero())
    throw Error{ErrorCode::invalid_argument,
                "the timeout is " + std::to_string(options_.timeout.count()) +
                    " ns; expected more than zero, or Duration::max() to wait for ever"};
  check_enumerator("the communicator", "determinism", static_cast<int>(options_.determinism),
                   kDeterminisms);
  window_ = std::min(kWindow, transport_->capabilities().tags / kInstances);
  expects(window_ > 0, "a transport has tags for one operation");
  user_tags_ =
      std::min<std::uint32_t>(kUserTags, transport_->capabilities().tags - window_ * kInstances);
  polls_per_clock_ = std::clamp(transport_->capabilities().idle_spins, 1, kPollsPerClock);
  polls_until_clock_ = polls_per_clock_;
  if (!options_.progress_thread) return;
  if (!transport_->capabilities().threads)
    throw Error{ErrorCode::invalid_argument,
                "CommunicatorOptions::progress_thread calls the transport '" +
                    transport_->capabilities().name +
                    "' from a thread of its own, which it does not allow: an MPI needs "
                    "MPI_THREAD_MULTIPLE; start it by MPI_Init_thread"};
  transport_->expect_dozing();
  progress_thread_ = ProgressThread::of_process();
  progress_thread_->add(*this);
}

Group& Engine::group() const {
  if (group_ == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "a communicator made from a transport alone cannot make groups"};
  return *group_;
}

Engine::Entry& Engine::entry_for(const Call& call, const Options& options) {
  if (!entries_.empty() && entries_.front().key.fits(call, options)) return entries_.front();
  const ShapeKey key{call, options};
  const auto [begin, end] = index_.equal_range(key.hash());
  for (auto found = begin; found != end; ++found)
    if (found->second->key.fits(call, options)) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return entries_.front();
    }
  std::shared_ptr<const Binding> binding = bind_shape(call, options);
  entries_.emplace_front(key);
  Entry& entry = entries_.front();
  entry.binding = std::move(binding);
  // The operator's function may be gone by the next call; the binding's copy keeps it alive, and
  // thus its address unused by any other.
  index_.emplace(entry.hash, entries_.begin());
  count_bytes(entry);
  evict();
  return entry;
}

/// A shape's programs are lowered when they are first needed.
void Engine::count_bytes(Entry& entry) noexcept {
  const std::size_t before = entry.bytes;
  entry.bytes = sizeof(Entry) + sizeof(Binding) + entry.binding->programs->footprint();
  cached_bytes_ += entry.bytes - before;
}

std::shared_ptr<const Binding> Engine::bind_shape(const Call& call, const Options& options) {
  const Rank self = transport_->self();
  if (call.point_to_point != PointToPoint::none) {
    check_point_to_point(call, options, transport_->size());
    return std::make_shared<const Binding>(bind_point_to_point(call));
  }
  const Problem problem =
      check(call, with_level(options, options_.determinism), self, transport_->size());
  const Candidate chosen = selector_.select(problem).chosen;
  Binding binding = detail::bind_shape(problem, chosen, *transport_, options_.segments_in_flight);
  calls_->describe(binding.fingerprint,
                   words_of(problem, chosen, binding, options_.segments_in_flight));
  return std::make_shared<const Binding>(std::move(binding));
}

/// Forgets what nobody uses, the least recently used first, until the budget is met. The shape used
/// last stays, with one execution, so that a loop over one shape never allocates.
void Engine::evict() noexcept {
  for (auto entry = entries_.end();
       cached_bytes_ > options_.cache_bytes && entry != entries_.begin();) {
    --entry;
    const bool is_last_used = entry == entries_.begin();
    while (cached_bytes_ > options_.cache_bytes && entry->idle.size() > (is_last_used ? 1u : 0u)) {
      cached_bytes_ -= entry->idle.back().execution.footprint();
      entry->idle.pop_back();
    }
    if (is_last_used || entry->users > 0 || cached_bytes_ <= options_.cache_bytes) continue;
    const auto [begin, end] = index_.equal_range(entry->hash);
    index_.erase(std::find_if(begin, end, [&](const auto& i) { return i.second == entry; }));
    cached_bytes_ -= entry->bytes;
    calls_->forget(entry->binding->fingerprint);
    entry = entries_.erase(entry);
  }
}

Execution* Engine::acquire(const Call& call, const Options& options) {
  return &lend(entry_ready_for(call, options));
}

/// An entry that has an idle execution, which knows the call's tag.
Engine::Entry& Engine::entry_ready_for(const Call& call, const Options& options) {
  if (failure_) complain();
  if (options.timeout < Duration::zero()) check_timeout("the call", options.timeout);
  if (call.point_to_point != PointToPoint::none) check_tag(call, user_tags_);
  Entry& entry = entry_for(call, options);
  if (entry.idle.empty()) {
    entry.idle.emplace_front(outbox_, scratch_, entry, options_.segments_in_flight);
    cached_bytes_ += entry.idle.front().execution.footprint();
  }
  entry.idle.front().execution.set_user_tag(call.tag);
  return entry;
}

Execution& Engine::lend(Entry& entry) noexcept {
  in_use_.splice(in_use_.begin(), entry.idle, entry.idle.begin());
  ++entry.users;
  Execution& execution = in_use_.front().execution;
  cached_bytes_ -= execution.footprint();
  return execution;
}

/// Most calls of a loop are like the one before, and many end as they begin: those lend nothing.
void Engine::run(const Call& call, const Options& options) {
  Entry& entry = entry_ready_for(call, options);
  if (entry.binding->is_collective && !has_room(1)) return run_later(entry, call, options);
  Execution& execution = entry.idle.front().execution;
  cached_bytes_ -= execution.footprint();  // which the first run of a shape changes
  try {
    start(execution, call.in, call.out, options.timeout);
  } catch (...) {
    cached_bytes_ += execution.footprint();
    if (!execution.done()) lend(entry);  // peers may still write into its memory
    throw;
  }
  cached_bytes_ += execution.footprint();
  count_bytes(entry);
  if (!execution.done()) {
    lend(entry);
    wait(execution);
    return release(&execution);
  }
  execution.rest();
  end_call(execution);
  if (!in_use_.empty()) progress();  // what else is under way goes on whenever something is called
  if (cached_bytes_ > options_.cache_bytes) evict();
}

/// Of a call that older ones have to make room for.
void Engine::run_later(Entry& entry, const Call& call, const Options& options) {
  Execution& execution = lend(entry);
  try {
    start(execution, call.in, call.out, options.timeout);
  } catch (...) {
    release(&execution);
    throw;
  }
  wait(execution);
  release(&execution);
}

void Engine::check_start(const Execution& execution, const void* in, const void* out) {
  const Binding& binding = execution.binding();
  const bool is_barrier = binding.layout().contract().collective == Collective::barrier;
  if (!is_barrier && !execution.ran_on(in, out))
    check_buffers(binding.name, binding.layout(), binding.element_bytes, in, out);
}

void Engine::start(Execution& execution, const void* in, void* out, Duration timeout) {
  if (failure_) complain();
  check_start(execution, in, out);
  if (timeout == Duration::zero()) timeout = options_.timeout;
  if (!execution.binding().is_collective || has_room(1)) return begin(execution, in, out, timeout);
  waiting_.push_back({.execution = &execution, .in = in, .out = out, .timeout = timeout});
  held_.splice(held_.end(), in_use_, find_held(in_use_, execution));
  execution.hold(timeout);
}

void Engine::begin(Execution& execution, const void* in, void* out, Duration timeout) {
  if (execution.binding().layout().contract().collective == Collective::barrier) in = out = &token_;
  try {
    execution.start({in, out}, turn_of(execution), timeout);
  } catch (...) {
    fail_as_caught();
  }
  if (hook_.is_asked_at_start()) help_others(transport_->now());
}

std::list<Engine::Held>::iterator Engine::find_held(std::list<Held>& held,
                                                    const Execution& execution) noexcept {
  return std::ranges::find_if(
      held, [&execution](const Held& other) { return &other.execution == &execution; });
}

/// In the order of the calls, which is the same on all ranks.
void Engine::start_waiting() {
  while (!waiting_.empty()) {
    const Waiting next = waiting_.front();
    const std::uint64_t places = next.objects ? next.objects->places() : 1;
    if (!is_within_window(places)) return;
    waiting_.pop_front();
    if (!next.objects) {
      in_use_.splice(in_use_.begin(), held_, held_.begin());
      begin(*next.execution, next.in, next.out, next.timeout);
      continue;
    }
    next.objects->let_start();
    advance_objects();
    next.objects->encode();
  }
}

/// Collectives are counted. Messages between two ranks are not, since the others know nothing of
/// them; they have tags of their own, behind those of the window.
Execution::Turn Engine::turn_of(const Execution& execution) {
  if (!execution.binding().is_collective)
    return {0, window_ * kInstances + static_cast<std::uint32_t>(execution.user_tag())};
  if (laps_ || (transport_->has_unclaimed() && !has_looked_))
    find_strays(std::exchange(laps_, false));
  const Execution::Turn turn = take_turn();
  calls_->begin(sequence_, execution.binding().fingerprint);
  strays_are_likely_ = strays_are_likely_ || execution.binding().may_leave_strays;
  return turn;
}

Execution::Turn Engine::take_turn() noexcept {
  const Execution::Turn turn{sequence_++, place_ * kInstances};
  if (++place_ == window_) place_ = 0;
  laps_ = laps_ || place_ == 0;
  return turn;
}

/// Whether tags are free for so many operations. All pending ones are looked at only where the
/// window may be full, once in a while.
bool Engine::is_within_window(std::uint64_t wanted) noexcept {
  if (sequence_ + wanted - oldest_ <= window_) return true;
  oldest_ = oldest_pending().sequence;
  return sequence_ + wanted - oldest_ <= window_;
}

std::size_t Engine::progress() {
  if (failure_) complain();
  has_looked_ = false;
  try {
    const std::size_t count = transport_->poll(completions_);
    for (std::size_t i = 0; i < count; ++i) Execution::complete(completions_[i]);
    if (count == 0 && polls_until_clock_ <= 1) find_strays(false);
    if (!waiting_.empty()) start_waiting();
    return count;
  } catch (...) {
    fail_as_caught();
  }
}

std::string Engine::explain(const Call& call, const Options& options) {
  if (call.point_to_point != PointToPoint::none) {
    check_point_to_point(call, options, transport_->size());
    return words_of(bind_point_to_point(call), call.tag) + ": as it is, without an algorithm";
  }
  const Problem problem = check(call, with_level(options, options_.determinism), transport_->self(),
                                transport_->size());
  return std::string{name_of(call.collective)} + " of " + std::to_string(problem.bytes()) +
         " bytes on " + std::to_string(transport_->size()) +
         " ranks: " + selector_.select(problem).explain();
}

}  // namespace tutti::inline v0::detail
