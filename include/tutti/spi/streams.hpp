/// @file
/// StreamTransport: runs the parts of a collective on streams of a GPU.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/options.hpp>
#include <tutti/spi/cores.hpp>
#include <tutti/spi/costs.hpp>
#include <tutti/spi/memory.hpp>
#include <tutti/spi/stream_arrays.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0 {

class Communicator;
class StreamPeers;

/// One message of a group: a run of device memory.
struct StreamMessage {
  Transfer::Kind kind = Transfer::Kind::send;  ///< Send or recv.
  Rank peer = 0;                               ///< The other end; may be the own rank.
  std::byte* data = nullptr;                   ///< The bytes. A send only reads them.
  std::size_t bytes = 0;                       ///< Length; more than zero.
};

/// A collective with equal blocks, for which a library may have a call.
struct NativeCall {
  Collective collective{};           ///< Its collective.
  Datatype type{};                   ///< Type of the elements.
  std::size_t element_bytes = 1;     ///< Size of an element.
  std::optional<OperatorKind> op{};  ///< Operator of a reduction.
  Rank root = 0;                     ///< Root of rooted collectives.
  std::size_t count = 0;             ///< Elements of the vector, or of a block; more than zero.
};

/// A point in a stream. One thread at a time, not always the same.
class TUTTI_API StreamMark {
 public:
  StreamMark() = default;
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;
  virtual ~StreamMark() = default;
  /// @return whether all work enqueued before it is done. Throws the Error of that work.
  [[nodiscard]] virtual bool is_done() = 0;
};

/// Enqueues messages, copies and folds on streams, for the ranks of one communicator. All work runs
/// in the order of its stream, and the host waits for nothing. One thread at a time, except mark,
/// is_captured and adopt_thread.
class TUTTI_API StreamTransport {
 public:
  StreamTransport() = default;
  StreamTransport(const StreamTransport&) = delete;
  StreamTransport& operator=(const StreamTransport&) = delete;
  virtual ~StreamTransport() = default;

  /// @return its name, such as "nccl".
  [[nodiscard]] virtual std::string name() const = 0;
  /// @return assumed costs of messages and bytes, by which algorithms are chosen; equal on all
  /// ranks.
  [[nodiscard]] virtual CostModel cost_model() const = 0;
  /// @return the place of each rank's GPU in its host; equal on all ranks; empty if unknown.
  [[nodiscard]] virtual std::vector<Locality> localities() const { return {}; }
  /// Makes the same for a part of its ranks. Collective over them. @param part a communicator of
  /// them, the own one among them. Throws Error, on all of them.
  [[nodiscard]] virtual std::shared_ptr<StreamTransport> divide(Communicator& part) = 0;

  /// Checks arguments before anything is enqueued. Throws Error{invalid_argument} if the stream is
  /// of another device, or the device does not see the bytes; and errors since the last call, such
  /// as Error{peer_dead, transport}. @param in may be empty. @param out may be empty.
  virtual void check(Stream stream, std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// Throws errors since the last call, as check.
  virtual void check_health() const = 0;
  /// @return whether the address is in memory of a device, which the host cannot touch.
  [[nodiscard]] virtual bool is_on_device(const void* data) const = 0;
  /// Makes its device current in the calling thread, so that a thread of tutti can call functions
  /// of the program. From any thread. Throws Error.
  virtual void adopt_thread() const = 0;
  /// @return a stream for calls without one; always the same.
  [[nodiscard]] virtual Stream own_stream() = 0;
  /// @return whether work on the stream is captured in a graph, not run. Thread-safe.
  [[nodiscard]] virtual bool is_captured(Stream stream) const = 0;
  /// @return whether exchange can be captured in a graph.
  [[nodiscard]] virtual bool is_capturable() const noexcept { return true; }
  /// @param stream not in capture. @return its current point, which may outlive this. Thread-safe.
  /// Throws Error.
  [[nodiscard]] virtual std::unique_ptr<StreamMark> mark(Stream stream) = 0;
  /// Makes later work of a stream wait for the current point of another one. @param stream that
  /// waits.
  /// @param other awaited stream. Throws Error.
  virtual void follow(Stream stream, Stream other) = 0;
  /// Makes later work of a stream wait for a mark. @param mark of this, or of another one of the
  /// same device and name. Throws Error.
  virtual void follow(Stream stream, const StreamMark& mark) = 0;

  /// @param bytes more than zero. @param stream in whose order the memory is used. @return device
  /// memory, aligned to 64 bytes. Throws std::bad_alloc, Error.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes, Stream stream) = 0;
  /// Releases memory of allocate, in the order of the same stream.
  virtual void deallocate(std::byte* data, Stream stream) noexcept = 0;
  /// Allocates memory for the fastest messages. Collective. @param bytes more than zero, equal on
  /// all ranks.
  /// @return device memory, zeroed, aligned to 64 bytes, which may outlive this. Throws, on all
  /// ranks alike, Error, also if there is no more memory.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate_registered(std::size_t bytes) = 0;

  /// Enqueues messages that all start at once, and end before later work begins. Between two ranks
  /// they match in the order in which they are enqueued, and both sides give a message the same
  /// number of bytes. A message need not be buffered before it is received. @param messages one or
  /// more. Throws Error.
  virtual void exchange(std::span<const StreamMessage> messages, Stream stream) = 0;
  /// Enqueues a copy without overlap. Throws Error.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) = 0;
  /// Enqueues zeroing. Throws Error.
  virtual void clear(std::byte* to, std::size_t bytes, Stream stream) = 0;
  /// Enqueues a fold, as Memory::fold. @param work with a built-in operator. Throws Error.
  virtual void fold(const Fold& work, Stream stream) = 0;
  /// Enqueues a conversion. Throws Error.
  virtual void convert(const Conversion& work, Stream stream) = 0;
  /// Enqueues the addition of an inspection to its sums. Throws Error.
  virtual void inspect(const Inspection& work, Stream stream) = 0;
  /// @return access to memory of peers; null if ranks have none; the same on all ranks.
  [[nodiscard]] virtual StreamPeers* peers() noexcept { return nullptr; }
  /// @return whether the library underneath has a call of its own; equal on all ranks.
  [[nodiscard]] virtual bool has_native(const NativeCall& call) const = 0;
  /// Enqueues that call. @param call that has one. @param in null on ranks without input. @param
  /// out null on ranks without output. Throws Error.
  virtual void run_native(const NativeCall& call, const std::byte* in, std::byte* out,
                          Stream stream) = 0;
  /// Fails all work under way, on all ranks, so that streams continue. Idempotent. @param cause
  /// sent to other ranks if possible.
  virtual void abort(const Error& cause) noexcept = 0;
};

}  // namespace tutti::v0
