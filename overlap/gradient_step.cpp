#include "gradient_step.hpp"

#include <algorithm>
#include <array>
#include <thread>

#include <tutti/attempt.hpp>

#include "bytes.hpp"

namespace tutti::v0::detail {
namespace {

/// Sleeps for a sixteenth of the time that was waited already, so that neither polling nor
/// oversleeping takes much of the time.
void nap(std::chrono::steady_clock::duration waited) {
  using std::chrono::microseconds;
  const auto time = std::chrono::duration_cast<microseconds>(waited / 16);
  if (time > microseconds{1}) std::this_thread::sleep_for(std::min(time, microseconds{1000}));
}

}  // namespace

GradientStep::GradientStep(SyncSetup& setup, GradientBuckets& buckets, Readiness& readiness,
                           StepHandover& handover, StepProblem& problem, StepReporter& reporter)
    : setup_{setup}, buckets_{buckets}, readiness_{readiness}, handover_{handover},
      problem_{problem}, reporter_{reporter}, sequence_{setup, readiness}, verdict_{setup,
                                                                                    problem} {}

void GradientStep::make_reductions(bool is_compressed) {
  reductions_.clear();
  verdict_.adopt_plan(buckets_.size());
  reporter_.adopt_plan(buckets_.size());
  for (std::size_t i = 0; i < buckets_.size(); ++i)
    reductions_.push_back({.reduction = make_reduction(context_of(i, is_compressed))});
}

BucketContext GradientStep::context_of(std::size_t index, bool is_compressed) {
  const Bucket& bucket = buckets_[index];
  const auto rank = static_cast<std::uint64_t>(setup_.all_ranks().rank());
  BucketContext context{.first = &buckets_.ranks_of(index),
                        .second = setup_.seconds.empty() ? nullptr : &setup_.seconds[bucket.group],
                        .memory = buckets_.memory_of(index),
                        .type = bucket.type,
                        .is_visible = buckets_.is_visible(index),
                        .options = &setup_.options,
                        .streams = setup_.streams.get(),
                        .is_compressed = is_compressed,
                        .op = &setup_.op,
                        .findings = &verdict_.of(index),
                        .hash_seed = std::uint64_t{index} << 32 | rank};
  for (const std::size_t i : bucket.parameters)
    context.matrices.push_back({.first = buckets_.plan().locations[i].offset / size_of(bucket.type),
                                .rows = setup_.parameters[i].rows,
                                .count = setup_.parameters[i].count});
  if (setup_.options.on_shard)
    context.shard = [this, index](const Block& block, std::byte* own) {
      call_on_shard(index, block, own);
    };
  return context;
}

void GradientStep::check_callbacks() const {
  if (!is_destroyed_) return;
  const Rank rank = setup_.all_ranks().rank();
  throw Error{ErrorCode::aborted,
              "on_bucket or on_shard destroyed the GradientSync on rank " + std::to_string(rank),
              rank};
}

bool GradientStep::reduce_all(std::uint32_t step) {
  sequence_.begin_step(buckets_.size());
  awaited_.reset();
  own_not_finite_.reset();
  is_cut_short_ = false;
  const auto is_awaited = [&] { return handover_.is_awaited(step); };
  SequenceProgress progress;
  auto moved = std::chrono::steady_clock::now();
  while (progress.ended < buckets_.size()) {
    sequence_.extend();
    // While on_shard waits for all buckets, only first collectives are awaited.
    const std::size_t first = verdict_.is_pending() ? progress.seen : progress.ended;
    if (advance(progress)) {
      check_callbacks();
    } else if (verdict_.is_pending() && progress.seen == buckets_.size()) {
      if (!handover_.await(is_awaited)) return false;
      verdict_.agree(handover_.is_active());
    } else if (first == sequence_.size() && sequence_.is_waiting_for_gradients()) {
      if (!handover_.await([this] { return !sequence_.is_waiting_for_gradients(); })) return false;
    } else {
      if (handover_.is_over()) return false;
      // While the program computes, the progress thread advances the requests. When the program
      // waits, the processor is free.
      const bool is_reducing = first < progress.begun;
      if (is_reducing) awaited_ = sequence_[first];
      Request& oldest =
          is_reducing ? reductions_[sequence_[first]].request : sequence_.negotiation();
      if (is_awaited()) oldest.wait();
      else nap(std::chrono::steady_clock::now() - moved);
      continue;
    }
    moved = std::chrono::steady_clock::now();
  }
  return handover_.await(is_awaited);
}

/// Starts first collectives in the order of the sequence, and second ones too. Each of the two
/// orders is the same on all ranks, but ranks may interleave them differently. @return whether
/// anything moved.
bool GradientStep::advance(SequenceProgress& progress) {
  // On a stream one bucket at a time, so that none has to wait for gradients of the next.
  const auto most = static_cast<std::size_t>(setup_.streams ? 1 : setup_.options.in_flight);
  const std::size_t finished = holds_shards(setup_.options) ? progress.seen : progress.ended;
  if (progress.begun < sequence_.size() && progress.begun - finished < most) {
    begin(sequence_[progress.begun++]);
    return true;
  }
  if (progress.seen < progress.begun && reductions_[sequence_[progress.seen]].request.test()) {
    const std::size_t index = sequence_[progress.seen++];
    reporter_.end_first_half(index);
    reductions_[index].reduction->inspect();
    if (verdict_.is_pending()) return true;
  }
  if (progress.middle < progress.seen && !verdict_.is_pending() &&
      progress.middle - progress.ended < most) {
    RunningReduction& next = reductions_[sequence_[progress.middle++]];
    next.request = next.reduction->advance();
    return true;
  }
  if (progress.ended < progress.middle && reductions_[sequence_[progress.ended]].request.test()) {
    end(sequence_[progress.ended++]);
    return true;
  }
  return false;
}

void GradientStep::begin(std::size_t index) {
  // If this bucket cannot be reduced, neither can later ones: other ranks would match them to it.
  if (setup_.streams && !setup_.streams->await_program(index)) is_cut_short_ = true;
  if (is_cut_short_) return;
  // The own gradient is inspected too, since a reduced one does not show which rank computed it.
  const bool inspects = setup_.options.check_finite && !setup_.streams && !own_not_finite_;
  const std::optional<std::size_t> found = buckets_.load(index, readiness_, inspects);
  if (inspects) own_not_finite_ = found;
  reporter_.begin_bucket(index);
  RunningReduction& running = reductions_[index];
  running.request = running.reduction->begin();
  reporter_.add_bytes(running.reduction->sent_bytes(), running.reduction->plain_bytes());
}

void GradientStep::end(std::size_t index) {
  if (is_cut_short_) return;
  reductions_[index].reduction->end();
  reporter_.end_bucket(index);
  if (setup_.detects_unused() || setup_.is_clipping()) return;
  for (const std::size_t i : buckets_[index].parameters) buckets_.store(i);
  call_on_bucket(index, buckets_[index].parameters);
}

/// Calls a function of the program. An exception of it makes the step void. @return whether it
/// returned.
template <class Function>
bool GradientStep::call(const char* name, Function function) noexcept {
  const std::optional<Error> error = error_of(callee_of(function));
  if (error) problem_.note([&] { return std::string{name} + " threw: " + error->what(); });
  return !error;
}

/// Calls on_shard. If the step is void, weights keep their values.
void GradientStep::call_on_shard(std::size_t index, const Block& block, std::byte* own) {
  const std::vector<ParameterShard> shards = buckets_.shards_in(index, block, own);
  if (verdict_.is_good() && verdict_.factor() != 1)
    scale(buckets_[index].type, own, block.count, verdict_.factor());
  if (verdict_.is_good() && call("on_shard", [&] { setup_.options.on_shard(shards); })) return;
  for (const ParameterShard& shard : shards) {
    const Parameter& parameter = setup_.parameters[shard.parameter];
    const std::size_t bytes = size_of(parameter.type);
    if (parameter.result == nullptr) continue;
    setup_.copy(static_cast<std::byte*>(shard.data),
                static_cast<const std::byte*>(parameter.result) + shard.first * bytes,
                shard.count * bytes);
  }
}

/// @param parameters of the bucket for the callback.
void GradientStep::call_on_bucket(std::size_t index,
                                  std::span<const std::size_t> parameters) noexcept {
  if (!setup_.options.on_bucket) return;
  const bool is_last = sequence_.size() == buckets_.size() && index == sequence_.buckets().back();
  call("on_bucket", [&] {
    setup_.options.on_bucket(
        {.index = index, .parameters = parameters, .is_last = is_last, .stream = setup_.stream()});
  });
}

void GradientStep::complete(bool inspects) {
  awaited_.reset();
  if (setup_.streams && !is_cut_short_) {  // the program's work after wait follows the reductions
    const Result<void> outcome = attempt([&] { setup_.streams->check_program(); });
    is_cut_short_ = !outcome;
    if (!outcome) readiness_.note_unmarked(outcome.error());
  }
  if (setup_.streams && inspects) agree_on_cut();
  verdict_.sum_up(is_cut_short_);
  if (setup_.is_clipping()) clip();
  if (setup_.detects_unused()) {
    agree_on_used();
    if (!is_cut_short_) store_used();
  }
  check_callbacks();
}

/// Agrees on whether all ranks have enqueued all buckets, before the host waits for a GPU: that
/// would wait for the missing ones.
void GradientStep::agree_on_cut() {
  std::array<std::uint8_t, 1> cut{is_cut_short_ ? std::uint8_t{1} : std::uint8_t{0}};
  setup_.all_ranks().all_reduce(cut, max, setup_.call_options());
  is_cut_short_ = cut[0] != 0;
}

/// Scales and stores all reduced buckets, without on_shard. If the step is void, the program gets
/// them unscaled, and on_bucket is not called.
void GradientStep::clip() {
  verdict_.agree(handover_.is_active());
  for (const std::size_t index : sequence()) {
    const Bucket& bucket = buckets_[index];
    if (verdict_.is_good() && verdict_.factor() != 1)
      scale(bucket.type, buckets_.memory_of(index).data(), bucket.count, verdict_.factor());
    if (setup_.detects_unused()) continue;  // store_used stores them
    for (const std::size_t i : bucket.parameters) buckets_.store(i);
    if (verdict_.is_good()) call_on_bucket(index, bucket.parameters);
  }
}

/// Agrees, in each group, on which parameters are used, before callbacks see gradients.
void GradientStep::agree_on_used() {
  const std::vector<Parameter>& parameters = setup_.parameters;
  is_used_somewhere_.assign(parameters.size(), 0);
  std::vector<std::uint8_t> used;
  for (std::uint32_t group = 0; group < setup_.groups.size(); ++group) {
    used.clear();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].group == group) used.push_back(readiness_.is_used(i) ? 1 : 0);
    if (used.empty()) continue;
    setup_.groups[group].all_reduce(used, max, setup_.call_options());
    auto next = used.begin();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (parameters[i].group == group) is_used_somewhere_[i] = *next++;
  }
}

/// Stores the gradients that a rank uses. The others keep their values.
void GradientStep::store_used() {
  std::vector<std::size_t> used;
  for (const std::size_t index : sequence()) {
    used.clear();
    for (const std::size_t i : buckets_[index].parameters) {
      if (is_used_somewhere_[i] != 0) {
        buckets_.store(i);
        used.push_back(i);
      } else {
        buckets_.put_back(i);
      }
    }
    if (!setup_.is_clipping() || verdict_.is_good()) call_on_bucket(index, used);
  }
  buckets_.forget_kept();
}

void GradientStep::rescale(double factor) {
  for (std::size_t i = 0; i < setup_.parameters.size(); ++i) {
    const Parameter& parameter = setup_.parameters[i];
    if (parameter.tied) continue;
    if (setup_.detects_unused() && is_used_somewhere_[i] == 0) continue;  // it keeps its value
    auto* const data = setup_.options.storage == GradientStorage::views
                           ? buckets_.address_of(i)
                           : static_cast<std::byte*>(parameter.data);
    if (setup_.streams)
      setup_.streams->convert({.from_type = parameter.type,
                               .to_type = parameter.type,
                               .count = parameter.count,
                               .factor = factor,
                               .from = data,
                               .to = data});
    else scale(parameter.type, data, parameter.count, factor);
  }
}

}  // namespace tutti::v0::detail
