// A step while gradients are reduced: what the thread of a GradientSync does.
#include <algorithm>
#include <cstring>

#include <tutti/attempt.hpp>
#include <tutti/spi/copy.hpp>

#include "bytes.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {
namespace {

/// A rank that finds no bucket ready on all ranks asks again only after this time.
constexpr std::chrono::milliseconds kNegotiationPause{1};

/// Sleeps for a sixteenth of what was waited already, so that looking takes no time that counts,
/// nor does what is overslept.
void nap(std::chrono::steady_clock::duration waited) {
  using std::chrono::microseconds;
  const auto time = std::chrono::duration_cast<microseconds>(waited / 16);
  if (time > microseconds{1}) std::this_thread::sleep_for(std::min(time, microseconds{1000}));
}

}  // namespace

std::span<std::byte> GradientSync::State::memory_of(std::size_t index) noexcept {
  const detail::Bucket& bucket = plan_.buckets[index];
  const std::size_t bytes = bucket.count * size_of(bucket.type);
  if (is_ours(bucket)) return {buffers_[index].data(), bytes};
  return {static_cast<std::byte*>(parameters_[bucket.parameters.front()].data), bytes};
}

/// Sleeps until something holds. @return whether it does, and the end has not come.
template <class Condition>
bool GradientSync::State::await(Condition condition) noexcept {
  for (;;) {
    const std::uint32_t seen = signal_.load(std::memory_order_acquire);
    if (is_over_.load(std::memory_order_acquire) != 0) return false;
    if (condition()) return true;
    signal_.wait(seen, std::memory_order_acquire);
  }
}

void GradientSync::State::run() noexcept {
  own_of_thread = this;
  bool is_cut_off = false;  // in the midst of a step
  for (std::uint32_t step = 1; !has_failed_ && await([&] { return begun_ >= step; }); ++step) {
    try {
      if (streams_ && step == 1) streams_->adopt_thread();  // for functions of the program's
      if (!reduce_all(step)) {
        is_cut_off = !sequence_.empty();
        break;
      }
      end_step();
    } catch (...) {
      end_as_caught();
    }
    if (has_failed_ && !await([&] { return asked_ >= step; })) break;
    ended_.fetch_add(1, std::memory_order_release);
    ended_.notify_all();
  }
  if (!has_failed_ && !is_restoring_) {
    const Error cause{ErrorCode::aborted, "it has ended"};  // short: it needs no memory
    if (is_cut_off) abort_streams(cause);
    fail(cause);
  }
  ended_.fetch_add(1, std::memory_order_release);  // for a call that still waits
  ended_.notify_all();
}

/// Throws where one of them has destroyed the GradientSync.
void GradientSync::State::check_callbacks() const {
  if (!is_destroyed_) return;
  const Rank rank = groups_[0].rank();
  throw Error{ErrorCode::aborted,
              "on_bucket or on_shard destroyed the GradientSync on rank " + std::to_string(rank),
              rank};
}

/// @return whether all buckets were reduced, and wait was called.
bool GradientSync::State::reduce_all(std::uint32_t step) {
  sequence_.clear();
  awaited_.reset();
  own_not_finite_.reset();
  is_cut_short_ = false;
  is_in_sequence_.assign(plan_.buckets.size(), 0);
  Reached reached;
  Clock::time_point moved = Clock::now();
  while (reached.ended < plan_.buckets.size()) {
    sequence();
    // Where all wait for the last bucket, first collectives are a flight of their own.
    const std::size_t first = is_holding() ? reached.seen : reached.ended;
    if (advance(reached)) {
      check_callbacks();
      moved = Clock::now();
    } else if (is_holding() && reached.seen == plan_.buckets.size()) {
      if (!await([&] { return asked_ >= step; })) return false;
      agree_on_use();
      moved = Clock::now();
    } else if (first == sequence_.size() && is_waiting_for_gradients()) {
      if (!await([this] { return !is_waiting_for_gradients(); })) return false;
      moved = Clock::now();
    } else {
      if (is_over_.load(std::memory_order_acquire) != 0) return false;
      // While the program computes, the progress thread goes on with what is under way. When the
      // program waits, the processor is free.
      const bool is_reducing = first < reached.begun;
      if (is_reducing) awaited_ = sequence_[first];
      Request& oldest = is_reducing ? flights_[sequence_[first]].request : agreement_;
      if (asked_ >= step) oldest.wait();
      else nap(Clock::now() - moved);
    }
  }
  return await([&] { return asked_ >= step; });
}

/// First collectives start in the order of the sequence, and so do second ones. Ranks see each of
/// the two orders alike, however they follow each other. @return whether something has happened.
bool GradientSync::State::advance(Reached& reached) {
  const auto flight = [this](std::size_t i) -> Flight& { return flights_[sequence_[i]]; };
  // On a stream they follow each other, so that none need wait for gradients of the next.
  const auto most = static_cast<std::size_t>(streams_ ? 1 : options_.in_flight);
  const std::size_t landed = detail::holds_shards(options_) ? reached.seen : reached.ended;
  if (reached.begun < sequence_.size() && reached.begun - landed < most) {
    begin(sequence_[reached.begun++]);
    return true;
  }
  if (reached.seen < reached.begun && flight(reached.seen).request.test()) {
    Flight& next = flight(reached.seen++);
    next.times.middle = Clock::now();
    next.reduction->inspect();
    if (is_holding()) return true;
  }
  if (reached.middle < reached.seen && !is_holding() && reached.middle - reached.ended < most) {
    Flight& next = flight(reached.middle++);
    next.request = next.reduction->advance();
    return true;
  }
  if (reached.ended < reached.middle && flight(reached.ended).request.test()) {
    end(sequence_[reached.ended++]);
    return true;
  }
  return false;
}

/// Puts buckets that are ready, and whose turn it is, into the sequence.
void GradientSync::State::sequence() {
  if (is_negotiating()) return negotiate();
  while (sequence_.size() < missing_.size() &&
         missing_[sequence_.size()].load(std::memory_order_acquire) == 0)
    sequence_.push_back(sequence_.size());
}

/// As long as a rank has buckets that are ready and not in the sequence, it asks the others which
/// of them are ready there too. Since the sequence is the same on all ranks, all ask equally often.
void GradientSync::State::negotiate() {
  if (is_agreeing_) {
    if (!agreement_.test()) return;
    is_agreeing_ = false;
    const std::size_t before = sequence_.size();
    for (std::size_t i = 0; i < missing_.size(); ++i)
      if (agreeing_[i] != 0) {
        sequence_.push_back(i);
        is_in_sequence_[i] = 1;
      }
    agreed_ = sequence_.size() == before ? Clock::now() : Clock::time_point{};
  }
  if (is_waiting_for_gradients() || Clock::now() - agreed_ < kNegotiationPause) return;
  for (std::size_t i = 0; i < missing_.size(); ++i) agreeing_[i] = is_ready_for_sequence(i);
  agreement_ = control_->async().all_reduce(agreeing_, min, call_options());
  is_agreeing_ = true;
}

bool GradientSync::State::is_ready_for_sequence(std::size_t bucket) const noexcept {
  return missing_[bucket].load(std::memory_order_acquire) == 0 && is_in_sequence_[bucket] == 0;
}

/// @return whether this rank can do nothing until the program says that another gradient is ready.
bool GradientSync::State::is_waiting_for_gradients() const noexcept {
  if (!is_negotiating()) return missing_[sequence_.size()].load(std::memory_order_acquire) != 0;
  if (is_agreeing_) return false;
  for (std::size_t i = 0; i < missing_.size(); ++i)
    if (is_ready_for_sequence(i)) return false;
  return true;
}

void GradientSync::State::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  if (streams_) streams_->copy(to, from, bytes);
  else copy_bytes(to, from, bytes);
}

void GradientSync::State::clear(std::byte* to, std::size_t bytes) {
  if (bytes == 0) return;
  if (streams_) streams_->clear(to, bytes);
  else std::memset(to, 0, bytes);
}

/// Where a gradient lies in its bucket it is kept until ranks know whether one of them uses it.
void GradientSync::State::keep(std::size_t index) {
  if (options_.storage == GradientStorage::copies || parameters_[index].count == 0) return;
  const std::size_t bytes = detail::bytes_of(parameters_[index]).size();
  kept_[index] = streams_ ? streams_->allocate_scratch(bytes)
                          : std::shared_ptr<std::byte>{new std::byte[bytes],
                                                       std::default_delete<std::byte[]>{}};
  copy(kept_[index].get(), place_of(index), bytes);
}

void GradientSync::State::copy_in(std::size_t index) {
  const detail::Bucket& bucket = plan_.buckets[index];
  const std::size_t bytes = size_of(bucket.type);
  for (const std::size_t i : bucket.parameters) {
    std::byte* const place = place_of(i);
    if (is_used_[i] == 0 && is_detecting()) keep(i);
    if (is_used_[i] == 0) clear(place, parameters_[i].count * bytes);
    else if (options_.storage == GradientStorage::copies && !bucket.is_in_place)
      copy(place, static_cast<const std::byte*>(parameters_[i].data), parameters_[i].count * bytes);
    // The reduced gradient does not tell which rank computed it.
    if (options_.check_finite && !streams_ && !own_not_finite_ &&
        detail::has_not_finite(bucket.type, place, parameters_[i].count))
      own_not_finite_ = i;
  }
}

void GradientSync::State::begin(std::size_t index) {
  Flight& flight = flights_[index];
  // Other ranks would take the next bucket for this one.
  if (streams_ && !streams_->await_program(index)) is_cut_short_ = true;
  if (is_cut_short_) return;
  copy_in(index);
  flight.times = {.begun = Clock::now()};
  flight.request = flight.reduction->begin();
  next_report_.sent_bytes += flight.reduction->sent_bytes();
  next_report_.plain_bytes += flight.reduction->plain_bytes();
}

void GradientSync::State::end(std::size_t index) {
  if (is_cut_short_) return;
  Flight& flight = flights_[index];
  flight.reduction->end();
  const Clock::time_point now = Clock::now();
  flight.times.ended = now;
  next_report_.communicating += now - std::max(flight.times.begun, last_finished_);
  last_finished_ = now;
  if (is_detecting() || is_clipping()) return;
  for (const std::size_t i : plan_.buckets[index].parameters) store(i);
  call_back(index, plan_.buckets[index].parameters);
}

/// Puts what was made of a gradient where the program wants it.
void GradientSync::State::store(std::size_t index) {
  const Parameter& parameter = parameters_[index];
  void* to = options_.on_shard ? parameter.result : nullptr;
  if (to == nullptr && options_.storage == GradientStorage::copies) to = parameter.data;
  const std::byte* const from = place_of(index);
  if (to == nullptr || to == from) return;
  copy(static_cast<std::byte*>(to), from, parameter.count * size_of(parameter.type));
}

/// Calls a function of the program's. @return whether it has not thrown, which makes the step void.
template <class Function>
bool GradientSync::State::guarded(const char* name, Function function) noexcept {
  const std::optional<Error> error = detail::error_of(detail::callee_of(function));
  if (error) note([&] { return std::string{name} + " threw: " + error->what(); });
  return !error;
}

/// Where the step is void, weights stay as they are.
void GradientSync::State::call_on_shard(std::size_t index, const detail::Block& block,
                                        std::byte* own) {
  const std::vector<ParameterShard> parts = parts_of(index, block, own);
  if (verdict_.is_good && verdict_.factor != 1)
    detail::scale(plan_.buckets[index].type, own, block.count, verdict_.factor);
  if (verdict_.is_good && guarded("on_shard", [&] { options_.on_shard(parts); })) return;
  for (const ParameterShard& part : parts) {
    const Parameter& parameter = parameters_[part.parameter];
    const std::size_t bytes = size_of(parameter.type);
    if (parameter.result == nullptr) continue;
    copy(static_cast<std::byte*>(part.data),
         static_cast<const std::byte*>(parameter.result) + part.first * bytes, part.count * bytes);
  }
}

/// @param parameters of the bucket that are told of.
void GradientSync::State::call_back(std::size_t index,
                                    std::span<const std::size_t> parameters) noexcept {
  if (!options_.on_bucket) return;
  const bool is_last = index == sequence_.back() && sequence_.size() == plan_.buckets.size();
  guarded("on_bucket", [&] {
    options_.on_bucket(
        {.index = index, .parameters = parameters, .is_last = is_last, .stream = stream()});
  });
}

}  // namespace tutti::v0
