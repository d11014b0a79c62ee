/// @file
/// A program at the buffers of one run: addresses, messages and folds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tutti/spi/transport.hpp>

#include "collectives/lowering/binding.hpp"

#include "arrival_combiner.hpp"
#include "outbox.hpp"
#include "partitioned.hpp"

namespace tutti::v0::detail {

class SegmentRun;

/// The state that the segment runs of one execution share.
struct RunContext {
  Outbox& outbox;
  Transport& transport;
  Memory& memory;
  std::shared_ptr<const Binding> binding;
  Operator op{OperatorKind::sum};       ///< Of the call; a user's own only while it runs.
  std::size_t lanes = 1;                ///< Segment runs.
  const std::byte* in = nullptr;        ///< Where the input is read.
  std::byte* out = nullptr;             ///< Where results are stored.
  bool is_shared = false;               ///< Whether a unit's input and output are one memory.
  std::size_t scratch_bytes = 0;        ///< Of each segment run.
  std::uint32_t tag = 0;                ///< Of the first segment run; each has its own.
  std::uint64_t fingerprint = 0;        ///< Of all messages.
  Partitioned* partitions = nullptr;    ///< Or null.
  std::size_t active = 0;               ///< Segment runs that have something to do.
  std::size_t footprint = 0;            ///< Bytes of all segment runs.
  std::vector<const void*> operands{};  ///< Of the fold at hand, as are the next ones.
  std::vector<std::int8_t> exponents{};
  std::vector<void*> results{};
};

/// A transfer; its address is the cookie.
struct PendingTransfer {
  SegmentRun* run = nullptr;
  bool is_done = false;    ///< Since it was posted.
  bool is_spared = false;  ///< The next time: its bytes stand where they belong already.
};

/// Knows the address of each place of a program, the transfers of its messages, and what it folds,
/// for the buffers of one run. Messages that stay where their sender has them are read there, and,
/// where the sender receives what is made of them, that is stored there too.
class BoundProgram {
 public:
  explicit BoundProgram(RunContext& context) noexcept : context_{context} {}

  /// Takes the program of a segment. @return it.
  const Program& choose(std::size_t segment);
  [[nodiscard]] const Program& program() const noexcept { return *program_; }
  /// @param memory scratch of the run.
  void set_scratch(std::byte* memory) noexcept {
    if (scratch_ != memory) unbind();
    scratch_ = memory;
  }
  /// Buffers have moved.
  void unbind() noexcept { is_bound_ = false; }
  [[nodiscard]] bool is_bound() const noexcept { return is_bound_; }
  /// Finds addresses, and makes transfers. @param run whose they are.
  void bind(SegmentRun& run);
  /// @return bytes of its lists.
  [[nodiscard]] std::size_t footprint() const noexcept;

  /// By message, as pending.
  [[nodiscard]] std::span<Transfer> transfers() noexcept { return transfers_; }
  [[nodiscard]] const Transfer& transfer(std::uint32_t message) const noexcept {
    return transfers_[message];
  }
  [[nodiscard]] PendingTransfer* pending(std::uint32_t message) noexcept {
    return &pending_[message];
  }
  [[nodiscard]] const PendingTransfer& pending(std::uint32_t message) const noexcept {
    return pending_[message];
  }
  [[nodiscard]] std::uint32_t message_of(const PendingTransfer& pending) const noexcept {
    return static_cast<std::uint32_t>(&pending - pending_.data());
  }

  /// Records a completed transfer, in a program with waits or partitions.
  void note(std::uint32_t message, std::size_t segment, const Completion& completion);
  /// Ends an access to a message that was waited for.
  void signal(const Operation& operation);
  void combine(const Combination& combination);
  /// Combines some elements, from `first` on, of a combination with one incoming operand. Called by
  /// any thread.
  void combine_part(const Combination& combination, std::size_t first,
                    std::span<const std::byte> incoming) const;
  /// @return the address of a place of the own rank, or of a result that is stored at a peer's.
  [[nodiscard]] std::byte* at(const Place& place) const noexcept;
  [[nodiscard]] std::size_t element_bytes() const noexcept {
    return context_.binding->element_bytes;
  }

 private:
  /// A message that stays in the sender's memory.
  struct Waited {
    AccessId access = kNoAccess;
    const std::byte* data = nullptr;
    std::byte* result = nullptr;  // where the result may be stored as well
  };
  void bind_combiners();
  void bind_results();
  void bind_partitioned();
  [[nodiscard]] const std::byte* operand_at(const Place& place) const noexcept;
  void open_results(const Combination& combination);

  RunContext& context_;
  const Program* program_ = nullptr;  // of the segment
  std::size_t shift_ = 0;             // of input and output
  std::byte* scratch_ = nullptr;
  bool is_bound_ = false;
  std::vector<Piece> pieces_{};
  std::vector<Transfer> transfers_{};  // by message, as are the next ones
  std::vector<PendingTransfer> pending_{};
  std::vector<Waited> waited_{};  // where a program waits
  std::unique_ptr<ArrivalCombiner[]> combiners_{};
  std::size_t combiner_count_ = 0;
};

}  // namespace tutti::v0::detail
