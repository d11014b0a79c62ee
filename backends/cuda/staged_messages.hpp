/// @file
/// Messages of device memory that pass through memory of the host.
#pragma once

#include <atomic>
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

/// The messages of one group. All messages from one rank to another share a lane, which cuts them
/// into chunks, in order. Each chunk passes through a slot of the lane. One internal stream copies
/// sent chunks to their slots, from which the transport sends them. The transport receives chunks
/// into their slots, from which another internal stream copies them to their destinations. So no
/// lane waits for another one. One thread calls this, in the context of the device.
class StagedMessages {
 public:
  struct Config {
    std::shared_ptr<const Device> device;
    Transport* transport;                  ///< Nothing else uses it. It outlives this.
    std::shared_ptr<PinnedMemory> memory;  ///< Memory of all slots; null if there are none.
    StagingPlan plan;
  };
  /// Throws Error{transport}.
  explicit StagedMessages(Config config);

  /// Begins a group, when the one before is done. @param messages none of which is to the own rank;
  /// from now on sent bytes may be read, and received bytes written. Throws Error.
  void begin(std::span<const StreamMessage> messages);
  /// Continues the group. Throws the errors of the transport and of the driver. @return whether
  /// anything moved.
  bool step();
  /// @return whether all bytes are at their destination.
  [[nodiscard]] bool is_done() const noexcept { return uncut_ == 0 && used_ == 0; }
  /// @return whether there are pending copies, whose end only a query shows.
  [[nodiscard]] bool is_copying() const noexcept {
    return !down_.slots.empty() || !up_.slots.empty();
  }
  /// @return whether a call of the driver has taken longer than the patience. Any thread may call
  /// this.
  [[nodiscard]] bool is_held_up(Duration patience) const noexcept;
  /// Frees memory. @param data of cuMemAllocAsync. @param after its last use, which waits for no
  /// group that is not done.
  void release(CUdeviceptr data, std::unique_ptr<Event> after) noexcept;
  /// Destroys an event, which the driver can hold up as it does work for streams.
  void destroy(std::unique_ptr<Event> event) noexcept;
  /// Aborts everything for good, and informs other ranks of the cause.
  void stop(const Error& cause) noexcept;

 private:
  /// A chunk, and its memory of the host.
  struct Slot {
    explicit Slot(const std::shared_ptr<const Device>& of) : copied{of} {}
    std::byte* room = nullptr;    // its memory of the host
    std::byte* device = nullptr;  // source or destination of its bytes
    Piece piece{};                // of the room, for the transport
    std::size_t lane = 0;
    std::uint64_t fingerprint = 0;
    Event copied;
  };
  /// Messages from this rank to another one, or from that one to this one.
  struct Lane {
    std::deque<StreamMessage> messages{};  // messages that are not cut completely
    std::size_t offset = 0;                // of the next chunk in the first message
    std::vector<std::size_t> free{};       // free slots
  };
  /// Copies in one direction.
  struct Copies {
    OwnedStream stream;
    std::deque<std::size_t> slots{};  // oldest first
  };
  [[nodiscard]] static std::size_t lane_of(const StreamMessage& message) noexcept {
    return 2 * static_cast<std::size_t>(message.peer) +
           (message.kind == Transfer::Kind::send ? 1 : 0);
  }
  [[nodiscard]] static bool sends(std::size_t lane) noexcept { return lane % 2 == 1; }
  void assign_slots();
  void cut(std::size_t lane);
  void copy(std::size_t slot);
  [[nodiscard]] bool next_copied(Copies& copies, std::size_t& slot);
  void prepare_transfer(std::size_t slot);
  void handle_completions();
  void free(std::size_t slot) noexcept;
  [[nodiscard]] bool is_idle(const Copies& copies) const noexcept;

  class DriverCall;

  Config config_;
  std::atomic<Duration::rep> called_at_{0};  // start of the driver call that runs; zero: none
  Copies down_;                              // from the device
  Copies up_;                                // to the device
  std::deque<Slot> slots_{};
  std::vector<Lane> lanes_;
  std::vector<std::size_t> active_{};  // lanes of the group
  std::vector<Transfer> transfers_{};  // to be posted
  std::size_t uncut_ = 0;              // messages that are not cut completely
  std::size_t used_ = 0;               // slots in use
  std::size_t posted_ = 0;             // slots that the transport has
  std::uint64_t moves_ = 0;            // counts progress
};

}  // namespace tutti::v0::cuda
