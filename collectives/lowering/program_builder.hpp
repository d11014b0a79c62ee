/// @file
/// Puts a program together: its operations, and which come after which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "proof/last_accesses.hpp"
#include "proof/program.hpp"

namespace tutti::v0::detail {

/// An operation starts when those have ended that wrote what it reads, and those that touched what
/// it writes; a message after the one before to or from the same peer, since they match in that
/// order. Where rounds are flow control one begins when the one before has ended, and its messages
/// start at once.
class ProgramBuilder {
 public:
  /// @param paced as Schedule::paced.
  explicit ProgramBuilder(bool paced) noexcept : paced_{paced} {}

  /// What is made. Pieces and combinations are added to it, then the operation that has them.
  [[nodiscard]] Program& program() noexcept { return program_; }
  /// @return how many messages there are.
  [[nodiscard]] std::uint32_t messages() const noexcept { return size_of(program_.messages); }

  /// @param waits whether it comes after the one before, where rounds are flow control.
  void begin_round(bool waits = true);
  /// Adds a message of the round. @param operation its message is numbered here.
  /// @param accesses what it touches. @param answered the number of a message that was waited for,
  /// whose signal it comes after, or kNoMessage.
  void add_message(Operation operation, const Accesses& accesses, std::uint32_t answered);
  /// Adds what combines. @param operation with one combination or more. @param accesses what it
  /// touches. @param waited numbers of messages that may go when it is done.
  void add_combine(Operation operation, const Accesses& accesses,
                   std::span<const std::uint32_t> waited);
  void end_round();
  /// @return the program. @param held_bytes see there.
  [[nodiscard]] Program finish(std::size_t held_bytes);

  template <class T>
  [[nodiscard]] static std::uint32_t size_of(const std::vector<T>& list) noexcept {
    return static_cast<std::uint32_t>(list.size());
  }

 private:
  using Numbers = std::vector<std::uint32_t>;  // of operations, sorted
  std::uint32_t add(Operation operation);
  void end_messages();
  void add_batch(std::uint32_t first, Numbers before);
  [[nodiscard]] Numbers before(const Accesses& accesses) const;
  void reduce(Numbers& before) const;
  [[nodiscard]] bool joins_last(const Numbers& before) const;

  bool paced_;
  Program program_{};
  LastAccesses accesses_{};
  std::uint32_t first_of_round_ = 0;
  std::uint32_t first_open_ = 0;     // message that is in no batch yet
  Numbers before_open_{};            // what those messages come after
  Numbers before_last_{};            // what the last operation comes after
  std::vector<bool> is_followed_{};  // by operation of the round: by another one of it
  Numbers last_{};                   // operations that a paced round comes after
  std::map<std::pair<Rank, bool>, std::uint32_t> last_of_peer_{};  // message to it, or from it
  std::vector<std::uint32_t> batch_of_{};                          // by operation
  std::vector<Numbers> before_{};                                  // by batch
  std::map<std::uint32_t, std::uint32_t> signals_{};               // by message that was waited for
};

}  // namespace tutti::v0::detail
