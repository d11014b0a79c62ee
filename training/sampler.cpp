// The samples of a rank.
#include <algorithm>
#include <iostream>
#include <numeric>
#include <utility>

#include <tutti/training/sampler.hpp>

#include "overlap/bytes.hpp"

namespace tutti::v0 {
namespace {

/// SplitMix64: number k is a function of the key and k.
class SampleNumbers {
 public:
  SampleNumbers(std::uint64_t seed, std::uint64_t epoch) noexcept
      : state_{detail::mixed_bits(detail::mixed_bits(seed + kStep) ^ (epoch * kStep))} {}
  /// @param bound more than zero. @return a number below it, all equally likely.
  std::uint64_t below(std::uint64_t bound) noexcept {
    const std::uint64_t surplus = (0 - bound) % bound;  // 2^64 modulo bound
    std::uint64_t number = next();
    while (number < surplus) number = next();
    return number % bound;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15;
  std::uint64_t next() noexcept { return detail::mixed_bits(state_ += kStep); }
  std::uint64_t state_;
};

std::vector<std::size_t> permutation_of(const SamplerState& state) {
  std::vector<std::size_t> order(state.samples);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!state.shuffle) return order;
  SampleNumbers numbers{state.seed, state.epoch};
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[numbers.below(i)]);
  return order;
}

void check_padding(SamplePadding padding) {
  if (padding > SamplePadding::none)
    throw Error{ErrorCode::invalid_argument,
                "DistributedSampler: padding " + std::to_string(static_cast<int>(padding)) +
                    " is no value; expected 0 .. " +
                    std::to_string(static_cast<int>(SamplePadding::none))};
}

}  // namespace

DistributedSampler::DistributedSampler(std::size_t samples, int ranks, Rank rank,
                                       const SamplerOptions& options)
    : start_{.samples = samples,
             .seed = options.seed,
             .shuffle = options.shuffle,
             .padding = options.padding},
      ranks_{static_cast<std::uint64_t>(ranks)}, rank_{static_cast<std::uint64_t>(rank)},
      warn_{options.warn} {
  check_padding(options.padding);
  if (ranks < 1 || rank < 0 || rank >= ranks)
    throw Error{ErrorCode::invalid_argument, "DistributedSampler: rank " + std::to_string(rank) +
                                                 " of " + std::to_string(ranks) +
                                                 " ranks; expected 0 to ranks - 1"};
}

DistributedSampler DistributedSampler::resume(const SamplerState& state, int ranks, Rank rank,
                                              std::function<void(std::string_view)> warn) {
  if (state.consumed > state.samples)
    throw Error{ErrorCode::invalid_argument,
                "DistributedSampler: the state has " + std::to_string(state.consumed) +
                    " samples consumed of " + std::to_string(state.samples)};
  check_padding(state.padding);
  DistributedSampler sampler{state.samples, ranks, rank, {.warn = std::move(warn)}};
  sampler.start_ = state;
  return sampler;
}

void DistributedSampler::set_epoch(std::uint64_t epoch) noexcept {
  if (epoch == start_.epoch) return;
  start_.epoch = epoch;
  start_.consumed = advanced_ = 0;
}

/// @return the most samples of a rank, from the start on.
std::uint64_t DistributedSampler::rounds() const noexcept {
  const std::uint64_t left = start_.samples - start_.consumed;
  const bool is_partial = left % ranks_ != 0 && start_.padding != SamplePadding::drop;
  return left / ranks_ + (is_partial ? 1 : 0);
}

std::size_t DistributedSampler::size() const noexcept {
  const std::uint64_t left = start_.samples - start_.consumed;
  std::uint64_t own = rounds();
  if (start_.padding == SamplePadding::none) own = left / ranks_ + (rank_ < left % ranks_ ? 1 : 0);
  return own - std::min(own, advanced_);
}

/// Called by all ranks; rank 0 warns.
void DistributedSampler::warn_of_end() const {
  if (has_warned_ || rank_ != 0) return;
  has_warned_ = true;
  const std::string epoch = std::to_string(start_.epoch);
  const std::string text = "DistributedSampler: epoch " + epoch + " has ended, so indices() has " +
                           "no samples; call set_epoch(" + std::to_string(start_.epoch + 1) +
                           ") before the next epoch";
  if (warn_) warn_(text);
  else std::cerr << "tutti: " + text + "\n";
}

std::vector<std::size_t> DistributedSampler::indices() const {
  if (advanced_ > 0 && advanced_ == rounds()) warn_of_end();
  std::vector<std::size_t> own(size());
  if (own.empty()) return own;
  const std::vector<std::size_t> order = permutation_of(start_);
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = order[(start_.consumed + (advanced_ + i) * ranks_ + rank_) % order.size()];
  return own;
}

void DistributedSampler::advance(std::size_t count) noexcept {
  advanced_ += std::min<std::uint64_t>(count, rounds() - advanced_);
}

SamplerState DistributedSampler::state() const noexcept {
  SamplerState now = start_;
  // At the end no sample is left, even if some were dropped.
  now.consumed = advanced_ == rounds() ? start_.samples : start_.consumed + advanced_ * ranks_;
  return now;
}

}  // namespace tutti::v0
