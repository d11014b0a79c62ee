/// @file
/// Aids for training: samples of a rank, exact evaluation, checkpoints, and work to do once per
/// host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// The treatment of an epoch whose samples cannot be divided evenly among the ranks.
enum class SamplePadding : std::uint8_t {
  /// Some samples come twice: the permutation is repeated until ranks have equally many.
  pad,
  /// The last samples of the permutation are left out, fewer than the number of ranks.
  drop,
  /// Each sample comes once: ranks differ by one. For evaluation, and GradientSync::join.
  none
};

/// Options of a DistributedSampler. Equal on all ranks, except warn.
struct SamplerOptions {
  std::uint64_t seed = 0;                      ///< Seed of the permutations.
  bool shuffle = true;                         ///< Whether to permute; else samples come in order.
  SamplePadding padding = SamplePadding::pad;  ///< See SamplePadding.
  /// A function that rank 0 calls once if DistributedSampler::indices is called at the end of an
  /// epoch. Empty: it prints the warning to standard error. A function that does nothing silences
  /// it.
  std::function<void(std::string_view)> warn{};
};

/// Position of a DistributedSampler in an epoch: equal on all ranks that have advanced equally far,
/// trivially copyable, and without a number of ranks, so that any number of ranks can resume from
/// it.
struct SamplerState {
  std::uint64_t samples = 0;   ///< Samples of the data set.
  std::uint64_t seed = 0;      ///< As SamplerOptions::seed.
  std::uint64_t epoch = 0;     ///< As DistributedSampler::set_epoch.
  std::uint64_t consumed = 0;  ///< Samples of the epoch's permutation that all ranks have used.
  bool shuffle = true;         ///< As SamplerOptions::shuffle.
  SamplePadding padding = SamplePadding::pad;  ///< As SamplerOptions::padding.
  /// Equality of all members.
  friend bool operator==(const SamplerState&, const SamplerState&) = default;
};

/// Divides a data set among ranks, anew in each epoch. It does not communicate: each rank computes
/// the same permutation. Rank r takes positions r, r + ranks, ... of it. So the samples that all
/// ranks have used after equally many steps are always its beginning, and a state is valid for
/// another number of ranks.
///
/// The permutation is a function of seed and epoch alone, equal on all machines: Fisher and Yates'
/// shuffle from the last position down, with numbers of SplitMix64 (Steele, Lea, Flood, OOPSLA
/// 2014) as a function of a counter, and rejection of those that would favour small ones.
///
/// One thread at a time. Copies are independent.
class TUTTI_API DistributedSampler {
 public:
  /// Starts at epoch 0.
  /// @param samples of the data set, may be 0. @param rank the own one, 0 .. ranks - 1. Throws
  /// Error{invalid_argument} for any other rank.
  DistributedSampler(std::size_t samples, int ranks, Rank rank, const SamplerOptions& options = {});
  /// Resumes from other ranks: the samples of this epoch that they had not used are divided among
  /// these ranks. No sample is lost, except those that SamplePadding::drop leaves out at the end,
  /// and none comes again, except those that SamplePadding::pad repeats at the end.
  /// @param state of any of the other ranks. @param ranks the current number. @param rank the own
  /// one. Throws Error{invalid_argument} as the constructor, and for a state with more samples
  /// consumed than there are.
  [[nodiscard]] static DistributedSampler resume(const SamplerState& state, int ranks, Rank rank,
                                                 std::function<void(std::string_view)> warn = {});

  /// Begins an epoch. The current epoch continues where it is, so that a loop over epochs can call
  /// it for the resumed one. @param epoch any; equal on all ranks.
  void set_epoch(std::uint64_t epoch) noexcept;
  /// @return the samples, 0 .. samples - 1, that this rank has left in this epoch, in their order.
  /// Takes time and memory in proportion to the samples of the data set. At the end of an epoch
  /// there are none until set_epoch is called. A loop that forgets that call would train on
  /// nothing, so this warns then, see SamplerOptions::warn.
  [[nodiscard]] std::vector<std::size_t> indices() const;
  /// @return the size of indices(). Takes constant time.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Counts samples as used. @param count of this rank's, such as the size of a batch; equal on all
  /// ranks, also if one has fewer left: an excess over the rest of the epoch is ignored.
  void advance(std::size_t count) noexcept;
  /// @return the position of all ranks, if they have advanced equally far; see SamplerState.
  [[nodiscard]] SamplerState state() const noexcept;

 private:
  [[nodiscard]] std::uint64_t rounds() const noexcept;
  void warn_of_end() const;
  SamplerState start_;          // where these ranks have begun
  std::uint64_t ranks_;         // how many
  std::uint64_t rank_;          // the own one
  std::uint64_t advanced_ = 0;  // samples of each rank since then
  std::function<void(std::string_view)> warn_;
  mutable bool has_warned_ = false;
};

}  // namespace tutti::v0
