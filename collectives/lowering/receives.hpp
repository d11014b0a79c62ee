/// @file
/// The part of lowering that decides how the messages of a round are received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowering.hpp"
#include "rounds.hpp"
#include "units.hpp"

namespace tutti::v0::detail {

/// How a message is received.
enum class Receiving : std::uint8_t {
  store,    ///< Into its destination, or into a stage if it is still to be combined or copied.
  combine,  ///< Combined while it arrives.
  wait      ///< It stays in the sender's memory, and is combined from there.
};

/// The decisions for one round.
struct Received {
  std::vector<Receiving> messages{};      ///< By message; meaningless for sends.
  std::vector<std::uint32_t> combined{};  ///< By fold: the message that it combines on arrival.
  /// By message: for a wait, the send of the next round that returns its result; for a send, the
  /// receive of the next round that gets the peer's result.
  std::vector<std::uint32_t> forwards{};
};

/// Decides for one round after the other.
class Receives {
 public:
  /// @param lowering and @param homes outlive this. @param in_place whether a unit's input and
  /// output are the same memory.
  Receives(const LoweringOptions& lowering, const Homes& homes, bool in_place)
      : lowering_{lowering}, homes_{homes}, in_place_{in_place} {}

  /// @param next the round after `round`, or an empty one.
  [[nodiscard]] Received decide(const Round& round, const Round& next);

 private:
  /// The use of a received message by the folds that read it.
  struct MessageUse {
    std::uint32_t units = 0;  // units that no fold reads
    std::uint32_t folds = 0;  // folds that read some of it
    std::uint32_t fold = 0;   // the last of these folds
    bool is_staged = true;    // whether no part of it is received into its destination
    bool is_alone = true;     // whether all these folds are alone, see is_alone()
    bool has_two = true;      // whether all these folds have two operands, one of them a message
    bool is_only = true;      // whether none of these folds reads another message
  };
  void find_uses(const Round& round);
  [[nodiscard]] bool is_alone(const Round& round, const RoundFold& fold) const;
  [[nodiscard]] bool may_wait(const RoundMessage& message, const MessageUse& use) const;
  [[nodiscard]] bool is_one_piece(const RoundMessage& message) const;
  [[nodiscard]] std::uint32_t find_answer(const Round& round, const RoundMessage& message,
                                          const MessageUse& use, const Round& next) const;
  [[nodiscard]] std::uint32_t find_spared(const Round& round, const RoundMessage& message,
                                          const Round& next) const;

  const LoweringOptions& lowering_;
  const Homes& homes_;
  bool in_place_;
  std::vector<MessageUse> uses_{};         // by message
  std::vector<std::uint32_t> messages_{};  // by arrival
};

}  // namespace tutti::v0::detail
