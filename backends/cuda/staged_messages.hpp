/// @file
/// Messages of device memory on their way through memory of the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include <tutti/spi/streams.hpp>
#include <tutti/spi/transport.hpp>

#include "event.hpp"
#include "pinned.hpp"
#include "staging.hpp"

namespace tutti::v0::cuda {

/// The messages of one group. Those between two ranks, one way, take a lane: there they are cut
/// into chunks, one after the other, each of which goes through a slot of the lane's own. A chunk
/// to be sent is copied to its slot, on a stream of ours, and then posted; one to be received is
/// posted, and when it has come it is copied to where it belongs, on another stream of ours. So no
/// lane waits for another one. Called by one thread, in whose context the device is current.
class StagedMessages {
 public:
  /// What they stand on.
  struct Parts {
    std::shared_ptr<const Device> device;
    Transport* transport;                  ///< Which nothing else uses. It lives longer.
    std::shared_ptr<PinnedMemory> memory;  ///< Room for all slots; null where there are none.
    StagingPlan plan;
  };
  /// @param parts see there. Throws Error{transport}.
  explicit StagedMessages(Parts parts);
  StagedMessages(const StagedMessages&) = delete;
  StagedMessages& operator=(const StagedMessages&) = delete;
  ~StagedMessages();

  /// Begins a group, where the one before is done. @param messages none of which is to the own
  /// rank; what is sent may be read, and what is received may be written, from now on. Throws
  /// Error.
  void begin(std::span<const StreamMessage> messages);
  /// Goes on. Throws what the transport, and the driver, throw. @return whether anything moved.
  bool step();
  /// @return whether all bytes are where they belong.
  [[nodiscard]] bool is_done() const noexcept { return uncut_ == 0 && used_ == 0; }
  /// @return whether copies are under way, of which nothing tells when they end.
  [[nodiscard]] bool is_copying() const noexcept { return !down_.empty() || !up_.empty(); }
  /// Gives memory back. @param data of cuMemAllocAsync. @param after what still uses it, which
  /// waits for no group that is not done.
  void release(CUdeviceptr data, const Event& after) noexcept;
  /// Ends all that is under way, for good; tells other ranks. @param cause why.
  void stop(const Error& cause) noexcept;

 private:
  /// A chunk under way, and the room that it takes.
  struct Slot {
    explicit Slot(const std::shared_ptr<const Device>& of) : copied{of} {}
    std::byte* room = nullptr;    // of the host
    std::byte* device = nullptr;  // where its bytes come from, or go to
    Piece piece{};                // what the transport moves: a part of the room
    std::size_t lane = 0;
    std::uint64_t fingerprint = 0;
    Event copied;
  };
  /// Messages one way between this rank and another one.
  struct Lane {
    std::deque<StreamMessage> messages{};  // that are not cut, in their order
    std::size_t offset = 0;                // up to which the first of them is
    std::vector<std::size_t> free{};       // slots
  };
  [[nodiscard]] static std::size_t lane_of(const StreamMessage& message) noexcept {
    return 2 * static_cast<std::size_t>(message.peer) +
           (message.kind == Transfer::Kind::send ? 1 : 0);
  }
  [[nodiscard]] static bool sends(std::size_t lane) noexcept { return lane % 2 == 1; }
  void deal_out_slots();
  void cut(std::size_t lane);
  void copy_down(std::size_t slot);
  void copy_up(std::size_t slot);
  void enlist(std::size_t slot);
  void post_copied();
  void take_completed();
  void end_copied();
  void end(std::size_t slot) noexcept;
  [[nodiscard]] bool is_idle(CUstream stream) const noexcept;

  Parts parts_;
  CUstream down_stream_;   // from the device
  CUstream up_stream_;     // to it
  std::deque<Slot> slots_{};
  std::vector<Lane> lanes_;
  std::vector<std::size_t> active_{};  // lanes of the group
  std::deque<std::size_t> down_{};     // slots that are copied from the device, oldest first
  std::deque<std::size_t> up_{};       // likewise to it
  std::vector<Transfer> transfers_{};  // to be posted
  std::size_t uncut_ = 0;              // messages of which something is not cut
  std::size_t used_ = 0;               // slots
  std::size_t posted_ = 0;             // of these by the transport
  std::uint64_t moves_ = 0;            // steps forward
};

}  // namespace tutti::v0::cuda
