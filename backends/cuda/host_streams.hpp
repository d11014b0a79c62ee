/// @file
/// Calls on streams over the host's own transport, for GPUs without NCCL.
#pragma once

#include <memory>
#include <string>

#include <tutti/communicator.hpp>
#include <tutti/spi/streams.hpp>

#include "device_streams.hpp"
#include "placement.hpp"
#include "stream_worker.hpp"

namespace tutti::v0::cuda {

/// Messages of device memory go through pinned memory of the host. A thread moves them, in a
/// communicator of the same ranks that has no other messages.
class HostStreams final : public DeviceStreams {
 public:
  struct Config {
    std::shared_ptr<const Device> device;
    Duration timeout;          ///< Longest wait of the destructor for calls.
    GpuPlacement placement{};  ///< The GPUs of all ranks.
    bool is_visible = false;   ///< Whether ranks see each other's memory if they can.
  };
  /// Collective. Throws, on all ranks alike, the error of the first one that fails:
  /// Error{invalid_argument} if the communicator cannot be divided, or a thread of tutti may not
  /// call its transport; Error{transport}.
  [[nodiscard]] static std::shared_ptr<HostStreams> connect(Communicator& world,
                                                            const Config& config);
  /// @param peers or null. @param ranks whose transport nothing else uses. @param plan equal on all
  /// of them. Throws Error{transport}, std::system_error.
  HostStreams(const Config& config, std::shared_ptr<DevicePeers> peers, Communicator ranks,
              const StagingPlan& plan);
  ~HostStreams() override;

  [[nodiscard]] std::string name() const override { return "host"; }
  [[nodiscard]] CostModel cost_model() const override;
  [[nodiscard]] std::vector<Locality> localities() const override {
    return config_.placement.localities;
  }
  [[nodiscard]] std::shared_ptr<StreamTransport> divide(Communicator& part) override;
  [[nodiscard]] bool is_capturable() const noexcept override { return false; }
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

  Config config_;
  // Destroyed from the last to the first: the transport ends before the pinned memory is freed,
  // which may wait for all streams. Other ranks, and so their streams, then no longer wait for this
  // one.
  Milestone done_;
  std::shared_ptr<PinnedMemory> memory_;  // or null
  Communicator ranks_;
  std::unique_ptr<StreamWorker> worker_;
};

}  // namespace tutti::v0::cuda
