/// @file
/// DistributedSampler: the samples that each rank trains on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// The treatment of samples that the number of ranks does not divide.
enum class SamplePadding : std::uint8_t {
  pad,   ///< Some samples come twice: the permutation starts again, until ranks have equally many.
  drop,  ///< The last samples of the permutation are left out, fewer than there are ranks.
  none   ///< Each sample comes once: ranks differ by one. For evaluation, and GradientSync::join.
};

/// The options of a DistributedSampler. Equal on all ranks, but for warn.
struct SamplerOptions {
  std::uint64_t seed = 0;                      ///< Of the permutations.
  bool shuffle = true;                         ///< Whether to permute; else samples come in order.
  SamplePadding padding = SamplePadding::pad;  ///< See SamplePadding.
  /// Called once, on rank 0, if DistributedSampler::indices is called at the end of an epoch. An
  /// empty function prints the warning to standard error; one that does nothing silences it.
  std::function<void(std::string_view)> warn{};
};

/// The position of a DistributedSampler within an epoch: equal on all ranks that have advanced by
/// equally many, trivially copyable, and without a number of ranks, so that others can go on from
/// there.
struct SamplerState {
  std::uint64_t samples = 0;                   ///< Of the data set.
  std::uint64_t seed = 0;                      ///< As SamplerOptions::seed.
  std::uint64_t epoch = 0;                     ///< As DistributedSampler::set_epoch.
  std::uint64_t consumed = 0;                  ///< Of the epoch's permutation, by all ranks.
  bool shuffle = true;                         ///< As SamplerOptions::shuffle.
  SamplePadding padding = SamplePadding::pad;  ///< As SamplerOptions::padding.
  /// Equality of all members.
  friend bool operator==(const SamplerState&, const SamplerState&) = default;
};

/// Divides a data set among ranks, anew in each epoch. It does not communicate: ranks get parts of
/// one permutation since each computes it. Rank r has positions r, r + ranks, ... of it, so that
/// what all ranks have seen after equally many samples is always its beginning; this is what makes
/// a state good for another number of ranks.
///
/// The permutation is a function of seed and epoch alone, equal on all machines: Fisher and Yates'
/// shuffle from the last position down, with numbers of SplitMix64 (Steele, Lea, Flood, OOPSLA
/// 2014) as a function of a counter, and rejection of those that would favour small ones.
///
/// One thread at a time. Copies are independent.
class TUTTI_API DistributedSampler {
 public:
  /// Of epoch 0. @param samples of the data set, may be 0. @param ranks how many there are.
  /// @param rank the own one, 0 .. ranks - 1. @param options see SamplerOptions.
  /// Throws Error{invalid_argument} for a rank that is none of them.
  DistributedSampler(std::size_t samples, int ranks, Rank rank, const SamplerOptions& options = {});
  /// Goes on where others were: what they had not seen in this epoch is divided among these ranks.
  /// No sample is lost, but for those that SamplePadding::drop leaves out at the end, and none
  /// comes again, but for those that SamplePadding::pad repeats at the end.
  /// @param state of any rank of the others. @param ranks how many there are now. @param rank the
  /// own one. @param warn as SamplerOptions::warn. @return the sampler. Throws
  /// Error{invalid_argument} as the constructor, and for a state with more samples consumed than
  /// there are.
  [[nodiscard]] static DistributedSampler resume(const SamplerState& state, int ranks, Rank rank,
                                                 std::function<void(std::string_view)> warn = {});

  /// Begins an epoch. That which is under way already goes on where it is, so that a loop over
  /// epochs can call it for the one that was resumed. @param epoch any; equal on all ranks.
  void set_epoch(std::uint64_t epoch) noexcept;
  /// @return the samples, 0 .. samples - 1, that this rank has still to see in this epoch, in their
  /// order. Takes time and memory in proportion to the samples of the data set. After the end of an
  /// epoch there are none until set_epoch is called; since a loop that forgets that would train on
  /// nothing, this warns then, see SamplerOptions::warn.
  [[nodiscard]] std::vector<std::size_t> indices() const;
  /// @return how many indices() has. Takes constant time.
  [[nodiscard]] std::size_t size() const noexcept;
  /// Counts samples as seen. @param count of this rank's, such as the size of a batch; equal on all
  /// ranks, also where one has fewer left: samples beyond the end of the epoch are ignored.
  void advance(std::size_t count) noexcept;
  /// @return where all ranks are, if they have advanced by equally many; see SamplerState.
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
