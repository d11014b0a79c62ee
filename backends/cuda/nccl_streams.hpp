/// @file
/// Calls on streams over NCCL: a round is a group of its sends and receives, and folds are tutti's
/// kernels.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>

#include "device_streams.hpp"
#include "nccl_communicator.hpp"
#include "placement.hpp"

namespace tutti::v0::cuda {

/// Communicators of NCCL, with the ranks of tutti's communicator. NCCL may hang if one side of a
/// message lies in registered memory and the other does not, such as scratch of schedules. So a
/// second communicator registers memory, and runs NCCL's own collectives on it.
class NcclStreams final : public DeviceStreams {
 public:
  struct Config : NcclCommunicator::Config {
    GpuPlacement placement{};  ///< The GPUs of all ranks.
    bool is_visible = false;   ///< Whether ranks are to see each other's memory.
  };
  /// Collective. Throws, on all ranks alike, the error of the first one that fails.
  [[nodiscard]] static std::shared_ptr<NcclStreams> connect(Communicator& world, Config config);
  /// @param peers null unless visible, and on a single rank. @param messages not null. @param ranks
  /// the same ones, over the host.
  NcclStreams(Config config, std::shared_ptr<DevicePeers> peers,
              std::unique_ptr<NcclCommunicator> messages, Communicator ranks);
  ~NcclStreams() override;

  [[nodiscard]] std::string name() const override { return "nccl"; }
  [[nodiscard]] CostModel cost_model() const override;
  [[nodiscard]] std::vector<Locality> localities() const override {
    return config_.placement.localities;
  }
  [[nodiscard]] std::shared_ptr<StreamTransport> divide(Communicator& part) override;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_registered(std::size_t bytes) override;
  void exchange(std::span<const StreamMessage> messages, Stream stream) override;
  [[nodiscard]] bool has_native(const NativeCall& call) const override;
  void run_native(const NativeCall& call, const std::byte* in, std::byte* out,
                  Stream stream) override;
  void abort(const Error& cause) noexcept override;
  void check_health() const override;

 private:
  [[nodiscard]] Duration patience() const { return ranks_.options().timeout; }
  void enqueue(NcclCommunicator& on, const char* what, Stream stream,
               const NcclCommunicator::Call& call);
  [[nodiscard]] std::shared_ptr<std::byte> allocate_best(std::size_t bytes) const;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_together(std::size_t bytes);
  /// Memory, and its handles in NCCL, which may be null.
  struct Registered {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes;
    std::weak_ptr<std::byte> user{};      // expired when the program has dropped the memory
    ncclWindow_vidmem* window = nullptr;  // of ncclCommWindowRegister
    void* handle = nullptr;               // of ncclCommRegister
  };
  void register_memory(Registered& memory);
  [[nodiscard]] bool is_registered(const std::byte* data) const noexcept;
  void deregister_dropped(bool all) noexcept;
  [[nodiscard]] bool await_calls() noexcept;

  Config config_;
  Communicator ranks_;
  std::unique_ptr<NcclCommunicator> messages_;      // of calls on other memory
  std::unique_ptr<NcclCommunicator> registered_{};  // null until memory is registered
  using Memory = std::vector<std::shared_ptr<Registered>>;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  const NcclCommunicator* last_ = nullptr;  // of the last call over NCCL
  std::shared_ptr<Event> last_call_;        // the end of the last call that is in no graph
  std::optional<Error> failure_{};          // the cause of abort
};

}  // namespace tutti::v0::cuda
