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
#include <string>
#include <utility>
#include <vector>

#include <tutti/types.hpp>

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

/// The times of calls, as counts per quarter of an octave.
class Durations {
 public:
  void add(std::chrono::nanoseconds time) noexcept;
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }
  /// @param share of the calls that are as short or shorter, from 0 to 1. @return microseconds; 0
  /// without calls.
  [[nodiscard]] double quantile_us(double share) const noexcept;

 private:
  static constexpr std::size_t kBuckets = 4 * 50;
  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t calls_ = 0;
  double seconds_ = 0;
};

/// Facts of the process for the head of a report.
struct Job {
  std::string mpi{};
  std::string program{};
  int ranks = 1;
};

/// The times of a process's calls. Thread-safe.
class Times {
 public:
  void add(const SimilarCalls& calls, Runner runner, std::chrono::nanoseconds time);
  /// @return lines for people, the kinds with most time first; none without calls.
  [[nodiscard]] std::vector<std::string> lines() const;
  /// @return records, one per line, whose first repeats the collectives and sizes as a sweep.
  [[nodiscard]] std::string records(const Job& job) const;

 private:
  // Sizes from one power of two to the next are one row.
  struct Key {
    Collective collective{};
    std::optional<std::size_t> bytes{};
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Row = std::array<Durations, kRunners>;
  mutable std::mutex mutex_{};
  std::map<Key, Row> rows_{};
};

}  // namespace tutti::dropin
