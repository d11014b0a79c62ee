/// @file
/// Calls on streams over the host's own transport, for GPUs without NCCL.
#pragma once

#include <memory>
#include <string>

#include <tutti/communicator.hpp>
#include <tutti/spi/streams.hpp>

#include "device_peers.hpp"
#include "device_streams.hpp"
#include "places.hpp"
#include "stream_worker.hpp"

namespace tutti::v0::cuda {

/// Messages of device memory go through pinned memory of the host. A thread moves them, in a
/// communicator of the same ranks that has no other messages.
class HostStreams final : public DeviceStreams {
 public:
  /// What all of it stands on.
  struct Parts {
    std::shared_ptr<const Device> device;
    Duration timeout;                      ///< Of the end: how long calls have that are not done.
    Places places{};                       ///< Of the ranks.
    bool is_visible = false;               ///< Whether ranks see each other's memory if they can.
    std::shared_ptr<DevicePeers> peers{};  ///< Null where ranks do not see each other's memory.
  };
  /// @param parts see there. @param ranks whose transport is used by nothing else. @param plan
  /// equal on all of them. Throws Error{transport}, std::system_error.
  HostStreams(const Parts& parts, Communicator ranks, const StagingPlan& plan);
  ~HostStreams() override;

  [[nodiscard]] std::string name() const override { return "host"; }
  [[nodiscard]] CostModel cost_model() const override;
  [[nodiscard]] std::vector<Locality> localities() const override {
    return parts_.places.localities;
  }
  [[nodiscard]] std::shared_ptr<StreamTransport> divide(Communicator& part) override;
  [[nodiscard]] bool is_capturable() const noexcept override { return false; }
  [[nodiscard]] StreamPeers* peers() noexcept override { return parts_.peers.get(); }
  [[nodiscard]] std::shared_ptr<std::byte> allocate_registered(std::size_t bytes) override;
  void deallocate(std::byte* data, Stream stream) noexcept override;
  void exchange(std::span<const StreamMessage> messages, Stream stream) override;
  [[nodiscard]] bool has_native(const NativeCall&) const override { return false; }
  void run_native(const NativeCall& call, const std::byte* in, std::byte* out,
                  Stream stream) override;
  void abort(const Error& cause) noexcept override;
  void check_health() const override { worker_->check(); }

 private:
  void copy_to_itself(std::span<const StreamMessage> messages, Stream stream);

  Parts parts_;
  // The transport ends before pinned memory does: other ranks then wait no more for this one, and
  // so neither do their streams, for which the end of pinned memory may wait.
  Milestone done_;
  std::shared_ptr<PinnedMemory> memory_;  // or null
  Communicator ranks_;
  std::unique_ptr<StreamWorker> worker_;
};

}  // namespace tutti::v0::cuda
