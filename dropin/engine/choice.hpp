/// @file
/// The choice between tutti and the MPI for calls that block: samples of both show who is faster.
#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tutti/types.hpp>

#include "dropin/engine/times.hpp"

namespace tutti::dropin {

/// The choice for similar calls on a communicator. Both take turns in a few of them, then the
/// ranks exchange the lower quartiles of their times, and the one with which the slowest rank is
/// faster runs all calls until the next round, which is four times as far away as the one before.
/// So all ranks choose the same. A round begins only once the ranks have found that they made the
/// same calls.
class Choice {
 public:
  /// One call.
  struct Turn {
    Runner runner = Runner::tutti;
    bool is_sample = false;  ///< Whether end() needs its time.
  };

  /// @param bytes the fewest of these calls; none if unknown. Long calls are sampled less often.
  explicit Choice(std::optional<std::size_t> bytes) noexcept;

  /// Lets a round begin if one is due.
  void open_round() noexcept { is_open_ = pause_ == 0; }
  /// Begins the next call.
  [[nodiscard]] Turn begin() noexcept;
  /// Begins the next call if it is the MPI's, and no sample. @return whether it is.
  [[nodiscard]] bool begin_if_mpis() noexcept {
    if (is_open_ || chosen_ != Runner::mpi) return false;
    if (pause_ > 0) --pause_;
    return true;
  }
  /// Ends a sample. Collective at the end of a round.
  void end(Runner runner, std::chrono::duration<double> time, MPI_Comm comm);

 private:
  void decide(MPI_Comm comm);

  bool is_open_ = false;      // whether a round goes on
  std::uint32_t pause_;       // calls before the next round is due
  std::uint32_t next_pause_;  // calls between that round and the one behind it
  std::uint32_t samples_;     // calls of a round
  Runner chosen_ = Runner::tutti;
  std::array<std::vector<double>, kRunners> seconds_{};
};

/// The choices of a communicator.
class Choices {
 public:
  /// @return the choice for similar calls.
  [[nodiscard]] Choice& of(const SimilarCalls& calls);
  /// As Choice::open_round, for all of them.
  void open_rounds() noexcept;

 private:
  // By the bits of the least number of bytes; the last is for unknown ones.
  static constexpr std::size_t kSizes = 66;
  using OfCollective = std::array<std::unique_ptr<Choice>, kSizes>;
  std::array<std::unique_ptr<OfCollective>, kCollectives> choices_{};
};

}  // namespace tutti::dropin
