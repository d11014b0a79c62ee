// The public calls of GradientSync.
#include <utility>

#include <tutti/batch.hpp>

#include "base/all_or_none.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {

GradientSync::GradientSync(Communicator& world, std::span<const Parameter> parameters,
                           const GradientOptions& options)
    : state_{State::make(world, parameters, options)} {}
GradientSync::GradientSync(GradientSync&&) noexcept = default;
GradientSync& GradientSync::operator=(GradientSync&& other) noexcept {
  State::end(std::exchange(state_, std::move(other.state_)));
  return *this;
}
GradientSync::~GradientSync() {
  State::end(std::move(state_));
}

void* GradientSync::view(std::size_t parameter) const noexcept {
  const detail::SyncSetup& setup = state_->setup_;
  const bool are_views = setup.options.storage == GradientStorage::views;
  if (!are_views || parameter >= setup.parameters.size()) return nullptr;
  return state_->buckets_.address_of(parameter);
}

void GradientSync::accumulated(std::size_t parameter) noexcept {
  state_->readiness_.accumulated(parameter);
}
void GradientSync::ready(std::size_t parameter) noexcept {
  state_->readiness_.ready(parameter);
}
const StepReport& GradientSync::wait() {
  const State::Call state{state_};
  return state->wait(true);
}
void GradientSync::synchronize(Duration timeout) {
  const State::Call state{state_};
  state->check_between_steps("synchronize");
  state->synchronize(timeout);
}
std::uint64_t GradientSync::join() {
  const State::Call state{state_};
  for (std::uint64_t steps = 0;; ++steps)
    if (state->wait(false).active == 0) return steps;
}
const StepReport& GradientSync::last_step() const noexcept {
  return state_->reporter_.report();
}
const std::vector<BucketReport>& GradientSync::last_buckets() const noexcept {
  return state_->reporter_.buckets();
}
std::vector<std::vector<std::size_t>> GradientSync::buckets() const {
  std::vector<std::vector<std::size_t>> all;
  for (const detail::Bucket& bucket : state_->buckets_.plan().buckets)
    all.push_back(bucket.parameters);
  return all;
}
std::uint64_t GradientSync::plan_hash() const noexcept {
  return state_->buckets_.plan().hash;
}
std::vector<std::size_t> GradientSync::order() const {
  return state_->buckets_.plan().order;
}
std::vector<std::vector<ParameterShard>> GradientSync::shards() const {
  const detail::GradientBuckets& buckets = state_->buckets_;
  std::vector<std::vector<ParameterShard>> all;
  for (std::size_t i = 0; i < buckets.size(); ++i)
    all.push_back(buckets.shards_in(i, buckets.own_block(i), nullptr));
  return all;
}

void GradientSync::broadcast_state(std::span<const Parameter> arrays, Rank root) {
  const State::Call state{state_};
  state->run_between_steps("broadcast_state",
                           [&] { state->broadcast_arrays(state->checked_arrays(arrays), root); });
}

void GradientSync::average_buffers(std::span<const Parameter> arrays) {
  const State::Call state{state_};
  state->run_between_steps("average_buffers", [&] {
    const std::vector<Parameter> own = state->checked_arrays(arrays);
    batch([&] {
      for (const Parameter& array : own)
        state->setup_.groups[array.group].run({.collective = Collective::all_reduce,
                                               .in = array.data,
                                               .out = array.data,
                                               .in_count = array.count,
                                               .out_count = array.count,
                                               .type = array.type,
                                               .element_bytes = size_of(array.type),
                                               .op = &average},
                                              {.stream = state->setup_.options.stream});
    });
  });
}

void GradientSync::verify_state(std::span<const Parameter> arrays) {
  const State::Call state{state_};
  state->run_between_steps("verify_state", [&] {
    const std::vector<Parameter> own = state->checked_arrays(arrays);
    detail::RankDifference found;
    for (const Parameter& array : own)
      if (found.text.empty())
        if (auto difference = state->checks_.difference_in(array, "")) found = *difference;
    // Ranks of other groups have not seen it.
    Communicator& world = state->setup_.all_ranks();
    const auto texts = detail::gather_texts(world, found.text, state->setup_.options.timeout);
    const auto ranks = world.all_gather(found.rank, state->setup_.call_options());
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (!texts[i].empty())
        throw Error{ErrorCode::invalid_argument, "GradientSync: " + texts[i], ranks[i]};
  });
}

}  // namespace tutti::v0
