/// @file
/// Calls on streams over NCCL: a round is a group of its sends and receives, and folds are kernels
/// of our own.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>

#include "device_peers.hpp"
#include "device_streams.hpp"
#include "nccl.hpp"
#include "places.hpp"

namespace tutti::v0::cuda {

/// A communicator of NCCL, of the same ranks as ours.
class NcclStreams final : public DeviceStreams, public std::enable_shared_from_this<NcclStreams> {
 public:
  /// What all of it stands on.
  struct Parts {
    std::shared_ptr<const Nccl> nccl;
    std::shared_ptr<const Device> device;
    Duration timeout;                      ///< Of NCCL's start and end.
    Places places{};                       ///< Of the ranks.
    bool is_visible = false;               ///< Whether ranks are to see each other's memory.
    std::shared_ptr<DevicePeers> peers{};  ///< Then; null where a rank is alone.
  };
  /// Collective: connects the ranks. @param parts see there. @param id of rank 0's making, the same
  /// on all. @param ranks the same ones, over the host, in which they agree. Throws Error{timeout,
  /// transport}.
  NcclStreams(Parts parts, const ncclUniqueId& id, Communicator ranks);
  ~NcclStreams() override;

  [[nodiscard]] std::string name() const override { return "nccl"; }
  [[nodiscard]] CostModel cost_model() const override;
  [[nodiscard]] std::vector<Locality> localities() const override {
    return parts_.places.localities;
  }
  [[nodiscard]] std::shared_ptr<StreamTransport> divide(Communicator& part) override;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_registered(std::size_t bytes) override;
  [[nodiscard]] StreamPeers* peers() noexcept override { return parts_.peers.get(); }
  void exchange(std::span<const StreamMessage> messages, Stream stream) override;
  [[nodiscard]] bool has_native(const NativeCall& call) const override;
  void run_native(const NativeCall& call, const std::byte* in, std::byte* out,
                  Stream stream) override;
  void abort(const Error& cause) noexcept override;
  /// Throws what NCCL, or abort, says.
  void check_health() const override;

 private:
  void complete(ncclResult_t result, const char* what) const;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_best(std::size_t bytes) const;
  [[nodiscard]] bool has_windows() const noexcept;
  /// How NCCL knows memory; null handles: not.
  struct Registration {
    void* window = nullptr;  ///< Of ncclCommWindowRegister.
    void* handle = nullptr;  ///< Of ncclCommRegister.
  };
  void register_memory(std::byte* data, std::size_t bytes, Registration& to) const;
  void deregister(const Registration& registration) const noexcept;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_together(std::size_t bytes);
  void fail(const Error& cause, std::shared_ptr<const void> held) noexcept;
  void send_or_receive(const StreamMessage& message, CUstream stream) const;

  Parts parts_;
  Communicator ranks_;
  ncclComm_t communicator_ = nullptr;  // null after abort
  std::optional<Error> failure_{};     // what abort was told
};

}  // namespace tutti::v0::cuda
