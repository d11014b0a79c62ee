/// @file
/// Internal to the verifier: the symbolic execution of all ranks, with strict rounds and without
/// buffering. Expects schedules whose form was checked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify_report.hpp"
#include "verify_values.hpp"

namespace tutti::verifying {

/// Runs schedules on symbolic values. Ranks advance by a list of ready ranks, not in lock step.
/// Stops at the first finding.
class DataFlow {
 public:
  /// Runs all schedules to their ends. @param report receives findings.
  void run(const Question& question, Report& report);

  /// @param unit in [0, units). @return the value of the `out` slot after run().
  [[nodiscard]] Value result(Rank rank, std::uint32_t unit) const {
    return read(static_cast<std::size_t>(rank), Space::out, unit);
  }
  /// @return the trees of the last run.
  [[nodiscard]] const ValueStore& values() const noexcept { return values_; }
  /// @return the place where operands first changed their order; empty if they never did.
  [[nodiscard]] const std::string& first_disorder() const noexcept { return first_disorder_; }

 private:
  enum Direction : std::uint8_t { outgoing, incoming };
  /// The steps of a round that form one message.
  struct MessageSteps {
    Rank peer;
    Direction direction;
    std::uint32_t first;  // step of the round
    std::uint32_t last;
  };
  /// The round that a rank is in.
  struct RankRound {
    std::size_t round = 0;
    std::size_t pending = 0;  // messages of the round that have not moved
    std::size_t cells = 0;    // offset of this rank's slots
    std::vector<MessageSteps> messages{};
    std::vector<std::uint32_t> next{};    // per step: the next one of the same message
    std::vector<std::size_t> arrivals{};  // per step: where its received values begin
    std::vector<Value> received{};        // in this round; applied at its end
  };
  struct Cursor;  // visits the slots of a message

  void reset(const Question& question);
  void start_round(std::size_t rank);
  void group_messages(RankRound& state, std::span<const Step> steps);
  void post_messages(std::size_t rank);
  void transfer(std::size_t sender, const MessageSteps& sent, std::size_t receiver,
                const MessageSteps& received);
  void moved(std::size_t rank);
  void finish_round(std::size_t rank);
  void fold(std::size_t rank, std::span<const Step> steps);
  void fold_side(std::size_t rank, std::span<const Step> steps, Side side);
  void fold_own(std::size_t rank, std::span<const Step> steps);
  void accumulate(const FindingPlace& place, std::size_t cell, Value operand);
  void move(std::size_t rank, const Step& step, std::size_t index);
  void complete(std::size_t rank, const Step& step);
  void report_deadlock();
  [[nodiscard]] std::string waiting_text(std::size_t rank) const;

  [[nodiscard]] std::span<const Step> steps_of(std::size_t rank) const {
    return question_->schedules[rank].round(states_[rank].round);
  }
  [[nodiscard]] FindingPlace place(std::size_t rank, const Slots& slots,
                                   std::uint32_t index) const {
    return {static_cast<Rank>(rank), static_cast<std::int64_t>(states_[rank].round),
            std::int64_t{slots.first} + index, slots.space};
  }
  [[nodiscard]] std::uint32_t& post(Direction direction, std::size_t rank, Rank peer) {
    return posts_[(direction * size_ + rank) * size_ + static_cast<std::size_t>(peer)];
  }
  [[nodiscard]] Value read(std::size_t rank, Space space, std::uint32_t slot) const;
  [[nodiscard]] Value read_or_report(std::size_t rank, const Slots& slots, std::uint32_t index);
  [[nodiscard]] Value incoming_operand(std::size_t rank, std::span<const Step> steps,
                                       std::size_t step, std::uint32_t index);

  const Question* question_ = nullptr;
  Report* report_ = nullptr;
  std::size_t size_ = 0;
  std::uint32_t units_ = 1;
  std::uint32_t parts_ = 1;
  bool idempotent_ = false;
  ValueStore values_{};
  std::string first_disorder_{};
  std::vector<RankRound> states_{};
  std::vector<Value> cells_{};          // per rank: out, then the planes of scratch
  std::vector<std::uint32_t> posts_{};  // per direction, rank and peer: message index + 1, or 0
  std::vector<std::size_t> ready_{};    // ranks whose round has no message left to move
  std::vector<std::size_t> grouped_{};  // per direction and peer: epoch and message of the round
  std::vector<std::size_t> group_epoch_{};
  std::size_t epoch_ = 0;
  std::vector<Value> sums_{};  // per slot of the rank whose round ends: the fold so far
  std::vector<std::size_t> sum_epoch_{};
  std::vector<std::size_t> own_epoch_{};
};

}  // namespace tutti::verifying
