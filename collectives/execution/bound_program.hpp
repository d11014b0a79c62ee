/// @file
/// A program with the addresses, transfers and folds of one run.
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
  Operator op{OperatorKind::sum};        ///< The call's; a user's own only while the call runs.
  std::size_t lanes = 1;                 ///< Number of segment runs.
  const std::byte* in = nullptr;         ///< Input.
  std::byte* out = nullptr;              ///< Output.
  bool is_shared = false;                ///< Whether a unit's input and output are one memory.
  std::size_t scratch_bytes = 0;         ///< Scratch of each segment run.
  std::uint32_t tag = 0;                 ///< Tag of the first segment run; each has its own.
  std::uint64_t fingerprint = 0;         ///< Fingerprint of all messages.
  Partitioned* partitions = nullptr;     ///< Null if the call starts as a whole.
  std::size_t active = 0;                ///< Segment runs that have not ended.
  std::size_t footprint = 0;             ///< Bytes of all segment runs.
  std::vector<const void*> operands{};   ///< Operands of the current fold.
  std::vector<std::int8_t> exponents{};  ///< Exponents of these.
  std::vector<void*> results{};  ///< Places at peers where the current fold stores its result too.
};

/// A transfer; its address is the cookie.
struct PendingTransfer {
  SegmentRun* run = nullptr;
  bool is_done = false;    ///< Whether it has completed since it was posted.
  bool is_spared = false;  ///< Whether it need not be posted next time: the receiver has the bytes.
};

/// Keeps the transfers of a program, and folds, with the addresses of one run. It reads messages of
/// waits in the sender's memory, and stores their results there too if the sender receives them.
class BoundProgram {
 public:
  explicit BoundProgram(RunContext& context) noexcept : context_{context} {}

  /// Chooses the program of a segment. @return it.
  const Program& choose(std::size_t segment);
  [[nodiscard]] const Program& program() const noexcept { return *program_; }
  /// Sets the scratch of the run.
  void set_scratch(std::byte* memory) noexcept {
    if (scratch_ != memory) unbind();
    scratch_ = memory;
  }
  /// Forgets all addresses, since buffers have moved.
  void unbind() noexcept { is_bound_ = false; }
  [[nodiscard]] bool is_bound() const noexcept { return is_bound_; }
  /// Finds addresses, and makes transfers. @param run the owner of the transfers.
  void bind(SegmentRun& run);
  /// @return its bytes of memory.
  [[nodiscard]] std::size_t footprint() const noexcept;

  /// @return all transfers, by message.
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
  /// Releases the message of a wait in its sender's memory.
  void signal(const Operation& operation);
  void combine(const Combination& combination);
  /// Combines some elements, from `first` on, of a combination with one incoming operand. Called by
  /// any thread.
  void combine_part(const Combination& combination, std::size_t first,
                    std::span<const std::byte> incoming) const;
  /// @return the address of a place of the own rank, or of a result that is stored at a peer.
  [[nodiscard]] std::byte* at(const Place& place) const noexcept;
  [[nodiscard]] std::size_t element_bytes() const noexcept {
    return context_.binding->element_bytes;
  }

 private:
  /// A message that stays in the sender's memory.
  struct Waited {
    AccessId access = kNoAccess;
    const std::byte* data = nullptr;
    std::byte* result = nullptr;  // from Transport::open_result
  };
  void bind_combiners();
  void bind_results();
  void bind_partitioned();
  [[nodiscard]] const std::byte* operand_at(const Place& place) const noexcept;
  void open_results(const Combination& combination);

  RunContext& context_;
  const Program* program_ = nullptr;  // of the segment
  std::size_t shift_ = 0;             // offset of the segment in input and output, in bytes
  std::byte* scratch_ = nullptr;
  bool is_bound_ = false;
  std::vector<Piece> pieces_{};
  std::vector<Transfer> transfers_{};       // by message
  std::vector<PendingTransfer> pending_{};  // by message
  std::vector<Waited> waited_{};            // by message; empty if the program has no forwards
  std::unique_ptr<ArrivalCombiner[]> combiners_{};
  std::size_t combiner_count_ = 0;
};

}  // namespace tutti::v0::detail
