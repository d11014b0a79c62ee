/// @file
/// Calls on streams over NCCL: a round is a group of its sends and receives, and folds are kernels
/// of our own.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <tutti/error.hpp>
#include <tutti/spi/streams.hpp>

#include "device.hpp"
#include "nccl.hpp"

namespace tutti::inline v0::cuda {

/// A communicator of NCCL, of the same ranks as ours.
class NcclStreams final : public StreamTransport {
 public:
  /// What all of it stands on.
  struct Parts {
    std::shared_ptr<const Nccl> nccl;
    std::shared_ptr<const Device> device;
    Duration timeout;  ///< Of NCCL's start and end.
  };
  /// Collective: connects the ranks. @param parts see there. @param id of rank 0's making, the same
  /// on all. @param self the own rank. @param size how many. Throws Error{timeout, transport}.
  NcclStreams(Parts parts, const ncclUniqueId& id, Rank self, int size);
  ~NcclStreams() override;

  [[nodiscard]] std::string name() const override { return "nccl"; }
  [[nodiscard]] Tariff tariff() const override;
  void check(Stream stream, std::span<const std::byte> in, std::span<std::byte> out) override;
  [[nodiscard]] std::byte* allocate(std::size_t bytes, Stream stream) override;
  void deallocate(std::byte* data, Stream stream) noexcept override;
  void exchange(std::span<const StreamMessage> messages, Stream stream) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) override;
  void fold(const Fold& work, Stream stream) override;
  void abort(const Error& cause) noexcept override;

  /// Throws what NCCL, or abort, says.
  void check_health() const;
  /// @param stream any. @return whether all that was enqueued on it is done. Throws
  /// Error{transport}, Error{invalid_argument} for a stream of another device.
  [[nodiscard]] bool is_done(Stream stream) const;

 private:
  using Clock = std::chrono::steady_clock;
  void settle(ncclResult_t result, const char* what) const;
  void check_stream(CUstream stream) const;
  void check_memory(const char* which, const void* data) const;
  void send_or_receive(const StreamMessage& message, CUstream stream) const;

  Parts parts_;
  ncclComm_t communicator_ = nullptr;  // null after abort
  std::optional<Error> failure_{};     // what abort was told
};

}  // namespace tutti::inline v0::cuda
