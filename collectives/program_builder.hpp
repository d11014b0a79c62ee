/// @file
/// Puts a program together: its operations, and which come after which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "proof/program.hpp"
#include "rounds.hpp"

namespace tutti::inline v0::detail {

/// What an operation of a round reads and writes.
struct Accesses {
  std::vector<Run> reads{};
  std::vector<Run> writes{};
};

/// A round begins when the one before has ended: rounds are flow control. In a round its messages
/// start at once, and the rest as it may: an operation after those that wrote what it reads, and
/// those that touched what it writes.
class ProgramBuilder {
 public:
  /// @param in_place whether a unit's input and output are the same memory.
  explicit ProgramBuilder(bool in_place) noexcept : in_place_{in_place} {}

  /// What is made. Pieces and combinations are added to it, then the operation that has them.
  [[nodiscard]] Program& program() noexcept { return program_; }
  /// @return how many messages there are.
  [[nodiscard]] std::uint32_t messages() const noexcept { return size_of(program_.messages); }

  /// @param waits whether it comes after the one before.
  void begin_round(bool waits = true);
  /// Adds a message of the round. @param operation its message is numbered here.
  /// @param touched by it.
  void add_message(Operation operation, Accesses touched);
  /// No more messages are added in this round.
  void end_messages();
  /// Adds what combines. @param operation with one combination or more. @param touched by it.
  /// @param waited numbers of messages that may go when it is done.
  void add_combine(Operation operation, Accesses touched, std::span<const std::uint32_t> waited);
  void end_round();
  /// @return the program. @param held_bytes see there.
  [[nodiscard]] Program finish(std::size_t held_bytes);

  template <class T>
  [[nodiscard]] static std::uint32_t size_of(const std::vector<T>& list) noexcept {
    return static_cast<std::uint32_t>(list.size());
  }

 private:
  std::uint32_t add(Operation operation, Accesses touched);
  void add_batch(std::uint32_t first, std::span<const std::uint32_t> before);
  [[nodiscard]] std::vector<std::uint32_t> before_in_round(const Accesses& touched) const;
  [[nodiscard]] bool is_ordered(const Accesses& before, const Accesses& after) const;
  [[nodiscard]] bool joins_last(const std::vector<std::uint32_t>& before) const;

  bool in_place_;
  Program program_{};
  std::uint32_t first_of_round_ = 0;
  std::vector<Accesses> touched_{};           // by operation of the round
  std::vector<bool> is_followed_{};           // likewise: by another one of the round
  std::vector<std::uint32_t> before_last_{};  // what its last operation comes after
  std::vector<std::uint32_t> last_{};         // operations that the next round comes after
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links_{};  // operation, batch after it
};

}  // namespace tutti::inline v0::detail
