/// @file
/// Ranks of one host that see memory of each other's GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/streams.hpp>

#include "event.hpp"
#include "shared_regions.hpp"

namespace tutti::v0::cuda {

/// Announces messages by stores to memory of the receiver's GPU, which its stream waits for. What
/// is stored does not depend on how often it was stored before, so that all of it can be captured
/// in a graph.
class DevicePeers final : public StreamPeers {
 public:
  /// Collective. @param device of the own rank, not null. @param ranks that see each other, no more
  /// than kPeerPlaces; for whatever is collective. @param scratch bytes that acquire has, equal on
  /// all. @param patience how long the end waits: for calls that are not done, and then until other
  /// processes see this rank's memory no more. Throws as SharedRegion.
  DevicePeers(std::shared_ptr<const Device> device, Communicator ranks, std::size_t scratch,
              Duration patience);
  /// @return what calls on such memory are assumed to cost: a kernel and two stores that a stream
  /// waits for, and what GPUs read of each other.
  [[nodiscard]] static LinkCosts costs() noexcept {
    return {.alpha = 8'000'000'000, .beta = 20'000, .gamma = 1'000, .fuses = true};
  }
  /// Calls that are not done in time are aborted. What another process may still see stays until
  /// this one ends.
  ~DevicePeers() override;

  /// Collective. @param bytes more than zero, equal on all ranks. @return memory that peers see,
  /// zeroed; when all ranks have dropped theirs it is given to whoever asks for as much, once the
  /// calls so far are done, for which this waits; not for those in graphs. Throws Error.
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes);

  [[nodiscard]] std::size_t scratch_bytes() const noexcept override { return scratch_.bytes(); }
  [[nodiscard]] bool are_seen(const std::byte* data, std::size_t bytes) const noexcept override {
    return region_of(data, bytes) != nullptr;
  }
  void begin(Stream stream) override;
  void end(Stream stream) override;
  [[nodiscard]] std::byte* acquire(std::size_t bytes) override;
  void give_back() noexcept override { lent_ = 0; }
  void announce(Rank peer, const std::byte* data, Stream stream) override;
  void await(Rank peer, Stream stream) override;
  void release(Rank peer, Stream stream) override;
  void await_release(Rank peer, Stream stream) override;
  void fold(const Fold& work, std::span<const PeerOperand> peers, Stream stream) override;

  void check() override;

  /// Fails all that is under way: peers are told, and own streams that wait for them go on. With
  /// calls in graphs it takes two seconds, as nobody knows when these end.
  void abort() noexcept;
  /// Waits for the calls so far, then aborts them: as the end does, for those who have something
  /// to end before that streams may not wait for any more.
  void finish_calls() noexcept;

 private:
  /// What a rank and one of its peers tell each other, in memory of the former: one cache line.
  struct alignas(64) Box {
    std::uint64_t message = 0;     // the address of the peer's, as seen here; 0: there is none
    std::uint64_t was_read = 0;    // whether the peer has read what it was told of
    std::uint64_t has_failed = 0;  // whether the peer has failed, so that what it told is wrong
  };
  /// Memory that was allocated, in the order of its making, which is the same on all ranks.
  struct Owned {
    std::unique_ptr<SharedRegion> region;
    std::weak_ptr<std::byte> user{};
  };
  [[nodiscard]] const SharedRegion* region_of(const std::byte* data,
                                              std::size_t bytes) const noexcept;
  [[nodiscard]] CUdeviceptr own_box(Rank peer, std::size_t member) const;
  [[nodiscard]] CUdeviceptr box_of(Rank peer, std::size_t member) const;
  void store(CUdeviceptr to, std::uint64_t value, Stream stream) const;
  void await_some(CUdeviceptr cell, Stream stream) const;
  [[nodiscard]] SharedRegion* find_free(std::size_t bytes);
  void clear(CUdeviceptr data, std::size_t bytes) const;
  void store_beside(CUdeviceptr to, std::uint64_t value) const noexcept;
  [[nodiscard]] bool is_beside_done(Duration patience) const noexcept;
  void await_beside(const char* what) const;
  void let_go() const noexcept;
  [[nodiscard]] static bool has_passed(Event& event) noexcept;
  [[nodiscard]] bool await_calls() noexcept;
  template <class HaveGone>
  void let_streams_go(Duration patience, HaveGone have_gone) noexcept;
  void await_processes() noexcept;

  /// A stream that ends with this.
  struct Side {
    const Device& device;
    CUstream stream;
    ~Side() { device.destroy(stream); }
  };

  std::shared_ptr<const Device> device_;
  Side side_{*device_, device_->make_urgent_stream()};  // where nothing waits for peers
  Communicator ranks_;
  SharedRegion boxes_;  // one for each peer
  SharedRegion scratch_;
  std::vector<Owned> owned_{};
  std::size_t lent_ = 0;
  Duration patience_;
  bool is_aborted_ = false;
  Stream current_{};         // of a call of which not all is enqueued
  bool has_graphs_ = false;  // whether calls are in graphs, of whose launches nothing is known
  std::unique_ptr<Event> before_{};  // the end of the last call that is in no graph
};

}  // namespace tutti::v0::cuda
