/// @file
/// Builds a program: its operations, and the order between them.
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

/// An operation starts after the earlier operations that wrote what it reads, and after those that
/// touched what it writes. A message also starts after the previous one to (or from) the same peer,
/// since messages match in that order. A paced round starts when the previous one has ended; its
/// messages then start at once.
class ProgramBuilder {
 public:
  /// @param paced as Schedule::paced.
  explicit ProgramBuilder(bool paced) noexcept : paced_{paced} {}

  /// @return the unfinished program. The caller adds pieces and combinations to it, then the
  /// operation that has them.
  [[nodiscard]] Program& program() noexcept { return program_; }
  /// @return the number of messages so far.
  [[nodiscard]] std::uint32_t messages() const noexcept { return size_of(program_.messages); }

  /// @param waits whether a paced round starts after the previous one.
  void begin_round(bool waits = true);
  /// Adds a message of the round, and numbers it. @param answered the message of a wait after whose
  /// signal this one starts, or kNoMessage.
  void add_message(Operation operation, const Accesses& accesses, std::uint32_t answered);
  /// Adds combinations. @param operation with one or more. @param waited numbers of the messages
  /// whose memory is released when they are done.
  void add_combine(Operation operation, const Accesses& accesses,
                   std::span<const std::uint32_t> waited);
  void end_round();
  /// @return the program. @param held_bytes as Program::held_bytes.
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
  std::uint32_t first_open_ = 0;     // first operation that is in no batch yet
  Numbers before_open_{};            // operations after which the messages without a batch start
  Numbers before_last_{};            // operations after which the last one starts
  std::vector<bool> is_followed_{};  // by operation of the round: by another one of it
  Numbers last_{};                   // operations after which a paced round starts
  std::map<std::pair<Rank, bool>, std::uint32_t> last_of_peer_{};  // by peer and direction
  std::vector<std::uint32_t> batch_of_{};                          // by operation
  std::vector<Numbers> before_{};                                  // by batch
  std::map<std::uint32_t, std::uint32_t> signals_{};               // by message of a wait
};

}  // namespace tutti::v0::detail
