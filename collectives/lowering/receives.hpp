/// @file
/// The part of lowering that decides what becomes of the messages of a round.
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
  store,    ///< To where it belongs, or, what is still to be combined or copied, to a stage.
  combine,  ///< By combining what comes while it comes.
  wait      ///< It stays where its sender has it, and is combined from there.
};

/// What was decided of one round.
struct Received {
  std::vector<Receiving> messages{};      ///< By message; of sends it means nothing.
  std::vector<std::uint32_t> combined{};  ///< By fold: the message that is combined as it comes.
  /// By message: of a wait the send of the next round that gives back what is made of it, of a send
  /// the receive of the next round that waits for that.
  std::vector<std::uint32_t> forwards{};
};

/// Decides, round by round.
class Receives {
 public:
  /// @param lowering what may be done. @param homes has sizes and places. Both live longer.
  /// @param in_place whether a unit's input and output are the same memory.
  Receives(const LoweringOptions& lowering, const Homes& homes, bool in_place)
      : lowering_{lowering}, homes_{homes}, in_place_{in_place} {}

  /// @param round which is decided. @param next the one after it, or an empty one.
  /// @return what becomes of its messages.
  [[nodiscard]] Received decide(const Round& round, const Round& next);

 private:
  /// Units of a received message by the folds that read them.
  struct MessageUse {
    std::uint32_t units = 0;  // that no fold reads
    std::uint32_t folds = 0;  // that read some
    std::uint32_t fold = 0;   // the last of them
    bool is_staged = true;    // all of it
    bool is_alone = true;     // so are all folds
    bool has_two = true;      // operands, all folds
    bool is_only = true;      // what comes, of all folds
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
