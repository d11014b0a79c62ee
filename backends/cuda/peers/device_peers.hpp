/// @file
/// Ranks of one host that see memory of each other's GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/stream_peers.hpp>

#include "backends/cuda/event.hpp"
#include "backends/cuda/polling.hpp"
#include "shared_regions.hpp"

namespace tutti::v0::cuda {

/// Announces messages by stores to memory of the receiver's GPU, for which its stream waits. The
/// stored values do not depend on earlier calls, so that graphs can capture calls.
class DevicePeers final : public StreamPeers {
 public:
  /// Collective. @param device of the own rank, not null. @param patience how long the destructor
  /// waits. @return null on a single rank. Throws, on all ranks alike, SharedRegion::Unseen if they
  /// do not see each other's memory; Error{transport}.
  [[nodiscard]] static std::shared_ptr<DevicePeers> connect(
      Communicator& world, const std::shared_ptr<const Device>& device, Duration patience);
  /// As connect. @return null also if ranks do not see each other's memory.
  [[nodiscard]] static std::shared_ptr<DevicePeers> connect_or_none(
      Communicator& world, const std::shared_ptr<const Device>& device, Duration patience);
  /// Collective. @param ranks at most kPeerOperands, which nothing else uses. @param scratch bytes
  /// for acquire, equal on all ranks. Throws as SharedRegion.
  DevicePeers(std::shared_ptr<const Device> device, Communicator ranks, std::size_t scratch,
              Duration patience);
  /// Waits, for the patience each, until calls are done, and until other processes do not see the
  /// own memory any more. Then it aborts the calls, and memory that another process may still see
  /// stays until this process ends.
  ~DevicePeers() override;

  /// @return assumed costs of calls: a kernel, and two stores that a stream waits for.
  [[nodiscard]] static LinkCosts costs() noexcept {
    return {.alpha = 8'000'000'000, .beta = 20'000, .gamma = 1'000, .fuses = true};
  }
  /// Collective. @param bytes more than zero, equal on all ranks. @return zeroed memory that peers
  /// see. Memory that all ranks have dropped serves later calls of similar size. Waits for calls
  /// that use it, but not for those in graphs. Throws Error.
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes);

  [[nodiscard]] std::size_t scratch_bytes() const noexcept override { return scratch_.bytes(); }
  [[nodiscard]] bool are_seen(const std::byte* data, std::size_t bytes) const noexcept override {
    return region_of(data, bytes) != nullptr;
  }
  void begin(Stream stream) override;
  void end(Stream stream) override;
  [[nodiscard]] std::byte* acquire(std::size_t bytes) override;
  void give_back() noexcept override { acquired_ = 0; }
  void announce(Rank peer, const std::byte* data, Stream stream) override;
  void await(Rank peer, Stream stream) override;
  void release(Rank peer, Stream stream) override;
  void await_release(Rank peer, Stream stream) override;
  void fold(const Fold& work, std::span<const PeerOperand> peers, Stream stream) override;
  void check() override;

  /// Aborts all calls: marks them as failed at the peers, and ends the waits of own streams. If
  /// there are calls in graphs, it takes two seconds, since their end cannot be queried.
  void abort() noexcept;
  /// Waits for the calls so far, then aborts them, as the destructor does. Callers use it before
  /// they free memory for which no stream may wait any more. @return whether all have ended.
  [[nodiscard]] bool finish_calls() noexcept;
  /// Orders calls on memory of peers and other calls whose kernels wait for peers: such a kernel
  /// may leave no room on the GPU for one that a peer needs. Calls in graphs are in no order.
  /// @param other the end of the last other call, which every later call here waits for.
  void run_after(std::shared_ptr<const Event> other) noexcept { other_call_ = std::move(other); }
  /// Makes a stream wait for the calls here. Throws Error.
  void hold(CUstream stream) const { last_call_->hold(stream); }

 private:
  /// Words of a rank's memory that one peer stores to: a cache line.
  struct alignas(64) Mailbox {
    std::uint64_t message = 0;     // address of the peer's message, as seen here; 0: none
    std::uint64_t was_read = 0;    // whether the peer has read the own message
    std::uint64_t has_failed = 0;  // whether the peer has failed, so that its messages are wrong
  };
  /// A region of allocate(). They are kept in the order of allocation, the same on all ranks.
  struct Owned {
    std::unique_ptr<SharedRegion> region;
    std::weak_ptr<std::byte> user{};
  };
  [[nodiscard]] const SharedRegion* region_of(const std::byte* data,
                                              std::size_t bytes) const noexcept;
  [[nodiscard]] CUdeviceptr own_word(Rank peer, std::size_t member) const;
  [[nodiscard]] CUdeviceptr word_at(Rank peer, std::size_t member) const;
  void store(CUdeviceptr to, std::uint64_t value, Stream stream) const;
  void await_nonzero(CUdeviceptr word, Stream stream) const;
  [[nodiscard]] SharedRegion* find_free(std::size_t bytes);
  void clear(CUdeviceptr data, std::size_t bytes) const;
  void store_now(CUdeviceptr to, std::uint64_t value) const noexcept;
  [[nodiscard]] bool is_service_done(Clock::time_point deadline) const noexcept;
  void await_service(const char* what) const;
  [[nodiscard]] bool has_passed() const noexcept;
  [[nodiscard]] bool await_calls() const noexcept;
  template <class Ended>
  void end_waits(Duration patience, Ended ended) noexcept;
  void await_processes() noexcept;

  std::shared_ptr<const Device> device_;
  OwnedStream service_ = device_->make_urgent_stream();  // never waits for peers
  Communicator ranks_;
  SharedRegion mailboxes_;  // of each rank one for each peer
  SharedRegion scratch_;
  std::vector<Owned> owned_{};
  std::size_t acquired_ = 0;  // bytes of scratch
  Duration patience_;
  bool is_aborted_ = false;
  Stream current_{};         // stream of the call that is being enqueued
  bool has_graphs_ = false;  // whether calls are in graphs, whose launches are unknown
  bool has_calls_ = false;   // whether there are calls outside graphs
  std::unique_ptr<Event> last_call_ = std::make_unique<Event>(device_);
  std::shared_ptr<const Event> other_call_{};  // or null
};

}  // namespace tutti::v0::cuda
