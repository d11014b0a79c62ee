/// @file
/// The times of blocking calls, for the report of a program.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <tutti/types.hpp>

#include "dropin/engine/sites.hpp"

namespace tutti::dropin {

/// Calls of about one size that all ranks tell from others.
struct SimilarCalls {
  Collective collective{};
  /// Bytes of a block or vector; none where ranks may have different ones.
  std::optional<std::size_t> bytes{};
  /// Whether the result has the same bytes whoever combines the elements, in whatever order.
  bool is_exact = true;
};

/// The two that run calls.
enum class Runner : std::uint8_t { tutti, mpi };
inline constexpr std::size_t kRunners = 2;

/// Calls whose times the ranks have compared: their time is the sum of both.
struct Compared {
  std::uint64_t calls = 0;
  double wait_seconds = 0;  ///< For ranks that came later.
  double move_seconds = 0;
};

/// The times of calls, as counts per quarter of an octave.
class Durations {
 public:
  void add(std::chrono::nanoseconds time) noexcept;
  void add(const Durations& others) noexcept;
  /// Divides the time of one of the calls.
  void compare(std::chrono::nanoseconds wait, std::chrono::nanoseconds move) noexcept;

  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }
  [[nodiscard]] const Compared& compared() const noexcept { return compared_; }
  /// @param share of the calls that are as short or shorter, from 0 to 1. @return microseconds; 0
  /// without calls.
  [[nodiscard]] double quantile_us(double share) const noexcept;

 private:
  static constexpr std::size_t kBuckets = 4 * 50;
  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t calls_ = 0;
  double seconds_ = 0;
  Compared compared_{};
};

/// The times by those that ran the calls.
using TimesByRunner = std::array<Durations, kRunners>;

/// @return the seconds of all runners.
[[nodiscard]] double seconds_of(const TimesByRunner& times) noexcept;

/// Calls of one collective and about one size.
struct KindOfCalls {
  Collective collective{};
  std::optional<std::size_t> bytes{};
  TimesByRunner times{};
  std::vector<std::pair<const Site*, TimesByRunner>> sites{};  ///< The one with most time first.
};

/// The calls in which one rank came last.
struct LateCalls {
  std::uint64_t calls = 0;
  double wait_seconds = 0;  ///< Sum over the calls; in each the mean of the other ranks.
};

/// The times of a process's calls. Thread-safe.
class Times {
 public:
  /// @return where the time has been added, for `compare`.
  Durations& add(const SimilarCalls& calls, const Site* site, Runner runner,
                 std::chrono::nanoseconds time);
  /// Divides the time of a call.
  void compare(Durations& of, std::chrono::nanoseconds wait, std::chrono::nanoseconds move);
  /// Adds a call in which a rank of MPI_COMM_WORLD came last. @param wait the mean of the others.
  void add_late(int rank, double wait_seconds);

  /// @return the kinds of calls, by collective and bytes.
  [[nodiscard]] std::vector<KindOfCalls> kinds() const;
  /// @return the calls in which a rank came last, by its number in MPI_COMM_WORLD.
  [[nodiscard]] std::map<int, LateCalls> late() const;

 private:
  // Sizes from one power of two to the next are one kind.
  struct Key {
    Collective collective{};
    std::optional<std::size_t> bytes{};
    const Site* site = nullptr;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  mutable std::mutex mutex_{};
  std::map<Key, TimesByRunner> rows_{};
  std::map<int, LateCalls> late_{};
};

}  // namespace tutti::dropin
