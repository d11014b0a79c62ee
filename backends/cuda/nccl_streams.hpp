/// @file
/// Calls on streams over NCCL: a round is a group of its sends and receives, and folds are kernels
/// of our own.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>

#include "device_peers.hpp"
#include "device_streams.hpp"
#include "nccl_communicator.hpp"
#include "places.hpp"

namespace tutti::v0::cuda {

/// Communicators of NCCL, of the same ranks as ours. NCCL may hang where one side of a message is
/// in memory that its communicator knows as registered and the other side is not, as scratch of
/// schedules: a second communicator knows registered memory, and has NCCL's own calls.
class NcclStreams final : public DeviceStreams {
 public:
  /// What all of it stands on.
  struct Parts : NcclCommunicator::Parts {
    Places places{};                       ///< Of the ranks.
    bool is_visible = false;               ///< Whether ranks are to see each other's memory.
    std::shared_ptr<DevicePeers> peers{};  ///< Then; null where a rank is alone.
  };
  /// Collective. @param world of ranks. @param parts of this one, without peers. @return their
  /// streams. Throws, on all of them alike, what the first one says that fails.
  [[nodiscard]] static std::shared_ptr<NcclStreams> connect(Communicator& world, Parts parts);
  /// @param parts see there. @param messages of the ranks; not null. @param ranks the same ones,
  /// over the host, in which they agree.
  NcclStreams(Parts parts, std::unique_ptr<NcclCommunicator> messages, Communicator ranks);
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
  [[nodiscard]] Duration patience() const { return ranks_.options().timeout; }
  void enqueue(NcclCommunicator& on, const char* what, Stream stream,
               const NcclCommunicator::Call& call);
  [[nodiscard]] std::shared_ptr<std::byte> allocate_best(std::size_t bytes) const;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_together(std::size_t bytes);
  /// Memory, and how NCCL knows it; null handles: not.
  struct Registered {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes;
    std::weak_ptr<std::byte> user{};  // gone: nobody uses it
    void* window = nullptr;           // of ncclCommWindowRegister
    void* handle = nullptr;           // of ncclCommRegister
  };
  void register_memory(Registered& memory);
  [[nodiscard]] bool is_registered(const std::byte* data) const noexcept;
  void deregister_dropped(bool all) noexcept;
  [[nodiscard]] bool await_calls() noexcept;

  Parts parts_;
  Communicator ranks_;
  std::unique_ptr<NcclCommunicator> messages_;      // has the other calls
  std::unique_ptr<NcclCommunicator> registered_{};  // once there is such memory
  using Memory = std::vector<std::shared_ptr<Registered>>;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  const NcclCommunicator* last_ = nullptr;  // that something was enqueued on
  std::optional<Event> enqueued_{};         // the last call that is in no graph
  std::optional<Error> failure_{};          // what abort was told
};

}  // namespace tutti::v0::cuda
