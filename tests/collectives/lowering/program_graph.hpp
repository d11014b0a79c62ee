/// @file
/// Internal to the checker of programs: which operations of all ranks come after which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program_check.hpp"

namespace tutti::v0::detail {

/// Starts and ends of all operations of all ranks, and what comes after what: an end after its
/// start, a start after the ends of what it needs, and, since nothing is buffered, both ends of a
/// message after both starts; a message that is waited for ends at its sender's after the signal.
class ProgramGraph {
 public:
  /// @param question the programs. @param in_place whether messages that are waited for stay where
  /// their senders have them, and results are stored there; else all of them are moved.
  ProgramGraph(const ProgramQuestion& question, bool in_place);

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
  /// @return for each recv and wait the send that it gets its bytes from, by their numbers.
  [[nodiscard]] const std::vector<std::size_t>& sources() const noexcept { return sources_; }
  /// @param wait number of one. @return the recv of its sender whose message is spared, by its
  /// number, or none.
  [[nodiscard]] std::optional<std::size_t> spared_by(std::size_t wait) const {
    const auto found = spared_by_.find(wait);
    return found == spared_by_.end() ? std::nullopt : std::optional{found->second};
  }
  /// @param wait number of one. @return whether its message stays where its sender has it.
  [[nodiscard]] bool stays(std::size_t wait) const { return stays_[wait]; }
  /// @return whether a send or recv is spared.
  [[nodiscard]] bool is_spared(std::size_t operation) const { return is_spared_[operation]; }

 private:
  using RankPair = std::pair<std::size_t, std::size_t>;  // from rank, to rank
  /// Messages from one rank to another, in their order.
  struct Matched {
    std::vector<std::size_t> sent{};
    std::vector<std::size_t> received{};
  };
  void link_operations(const Program& program, std::size_t first);
  [[nodiscard]] const Operation& operation(const ProgramQuestion& question,
                                           std::size_t number) const;
  void match_messages(const ProgramQuestion& question, bool in_place);
  void check_match(const ProgramQuestion& question, const RankPair& way, const Matched& matched);
  void link_waits(const ProgramQuestion& question);
  void find_spared(const ProgramQuestion& question, const std::map<RankPair, Matched>& messages);
  void reach();

  std::string problem_{};
  std::vector<std::size_t> first_{};              // by rank
  std::vector<std::vector<std::size_t>> next_{};  // by start (even) and end (odd)
  std::vector<std::size_t> sources_{};            // by operation
  std::map<std::size_t, std::size_t> spared_by_{};
  std::vector<bool> is_spared_{};         // by operation
  std::vector<bool> stays_{};             // by operation
  std::vector<std::size_t> signalled_{};  // by signal: the send that ends then
  std::size_t words_ = 0;
  std::vector<std::uint64_t> reached_{};  // a bit for each pair of starts and ends
};

}  // namespace tutti::v0::detail
