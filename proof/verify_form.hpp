/// @file
/// Internal to the verifier: checks that need no execution. Slots exist, writers of a round do not
/// collide, and every message that is sent is received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify_report.hpp"

namespace tutti::verifying {

/// Checks the form of schedules and counts their costs.
class FormCheck {
 public:
  /// @param report receives findings. @param facts receives rounds, messages, units and scratch
  /// slots.
  void check(const Question& question, Report& report, Facts& facts);

 private:
  struct Mark {
    std::uint32_t round = 0;  // epoch of the round that last wrote the slot
    bool fold = false;        // by a reduction, which others may join
  };
  struct Pair {
    std::int32_t sent = 0;
    std::int32_t received = 0;
  };
  struct Position {
    const Question& question;
    const Schedule& schedule;
    Report& report;
    Rank rank;
    std::int64_t round;

    [[nodiscard]] FindingPlace place(Space space = Space::out, std::int64_t slot = -1) const {
      return {.rank = rank, .round = round, .slot = slot, .space = space};
    }
  };

  static bool check_shape(const Question& question, Report& report);
  static bool check_step(const Position& at, const Step& step);
  static bool check_slots(const Position& at, const Slots& slots);
  void start_rank(const Schedule& schedule);
  bool check_writes(const Position& at, std::span<const Step> steps);
  bool check_reads(const Position& at, std::span<const Step> steps);
  bool check_source(const Position& at, const Slots& slots, bool local);
  void count_round(const Position& at, std::span<const Step> steps, Facts& facts);
  void remember_writes(std::span<const Step> steps, std::uint32_t units);
  void check_pairs(const Question& question, Report& report) const;

  [[nodiscard]] Pair& pair(Rank from, Rank to) {
    return pairs_[static_cast<std::size_t>(from) * size_ + static_cast<std::size_t>(to)];
  }

  std::size_t size_ = 0;
  std::uint32_t round_epoch_ = 0;
  std::uint32_t rank_epoch_ = 0;
  std::uint64_t units_sent_ = 0;
  std::size_t scratch_slots_ = 0;
  std::vector<Mark> marks_{};                 // per slot of out and scratch
  std::vector<std::uint32_t> overwritten_{};  // per slot: epoch of the rank that last wrote it
  std::vector<std::uint32_t> peers_{};  // sends to, then receives from: epoch of the last round
  std::vector<Pair> pairs_{};           // messages from each rank to each
};

}  // namespace tutti::verifying
