/// @file
/// Internal to the checker of programs: which operations of all ranks come after which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "program_check.hpp"

namespace tutti::inline v0::detail {

/// Starts and ends of all operations of all ranks, and what comes after what: an end after its
/// start, a start after the ends of what it needs, and, since nothing is buffered, both ends of a
/// message after both starts.
class ProgramGraph {
 public:
  explicit ProgramGraph(const ProgramQuestion& question);

  /// @return what is wrong with messages, or what waits for itself, or nothing.
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
  /// @return operations of all ranks, numbered rank by rank.
  [[nodiscard]] std::size_t size() const noexcept { return next_.size() / 2; }
  /// @param rank any. @return the number of its first operation.
  [[nodiscard]] std::size_t first_of(std::size_t rank) const noexcept { return first_[rank]; }
  /// @param a an operation. @param b another one. @return whether b starts after a has ended.
  [[nodiscard]] bool is_before(std::size_t a, std::size_t b) const noexcept {
    return (reached_[(2 * a + 1) * words_ + (2 * b) / 64] >> ((2 * b) % 64) & 1) != 0;
  }
  /// @param seed decides among the legal ones. @return operations in an order in which they may
  /// end; a message is received right after it was sent.
  [[nodiscard]] std::vector<std::size_t> order(std::uint64_t seed) const;
  /// @return for each recv the send that it gets its bytes from, by their numbers.
  [[nodiscard]] const std::vector<std::size_t>& sources() const noexcept { return sources_; }

 private:
  void link_operations(const Program& program, std::size_t first);
  void match_messages(const ProgramQuestion& question);
  void reach();

  std::string problem_{};
  std::vector<std::size_t> first_{};              // by rank
  std::vector<std::vector<std::size_t>> next_{};  // by start (even) and end (odd)
  std::vector<std::size_t> sources_{};            // by operation
  std::size_t words_ = 0;
  std::vector<std::uint64_t> reached_{};  // a bit for each pair of starts and ends
};

}  // namespace tutti::inline v0::detail
