/// @file
/// StreamTransport: what a collective on a stream of a GPU is made of.
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

/// One message of a group: a run of device memory.
struct StreamMessage {
  Transfer::Kind kind = Transfer::Kind::send;  ///< Send or recv.
  Rank peer = 0;                               ///< The other end; may be the own rank.
  std::byte* data = nullptr;                   ///< Where. A send only reads it.
  std::size_t bytes = 0;                       ///< How many; more than zero.
};

/// A collective with equal blocks, which a library may have a call for.
struct NativeCall {
  Collective collective{};           ///< Which one.
  Datatype type{};                   ///< Of the elements.
  std::size_t element_bytes = 1;     ///< Of one element.
  std::optional<OperatorKind> op{};  ///< Of a reduction.
  Rank root = 0;                     ///< Where there is one.
  std::size_t count = 0;             ///< Elements of the vector, or of a block; more than zero.
};

/// A point in a stream. One thread at a time, whichever that is.
class TUTTI_API StreamMark {
 public:
  StreamMark() = default;
  StreamMark(const StreamMark&) = delete;
  StreamMark& operator=(const StreamMark&) = delete;
  virtual ~StreamMark() = default;
  /// @return whether all that was enqueued before it is done. Throws Error what failed of that.
  [[nodiscard]] virtual bool is_done() = 0;
};

/// An operand of a fold that lies in memory of a peer.
struct PeerOperand {
  std::size_t operand = 0;  ///< Which one of Fold::operands, where it is null.
  Rank peer = 0;            ///< Whose message it is a part of.
  std::size_t offset = 0;   ///< Bytes of that part from the message's beginning.
};

/// Memory of the ranks in which each other one reads, on streams. A message stays where its sender
/// has it: the sender announces it, its receiver waits for that, reads it there and releases it,
/// and the sender waits for that. Between two ranks there is one message each way at a time.
class TUTTI_API StreamPeers {
 public:
  StreamPeers() = default;
  StreamPeers(const StreamPeers&) = delete;
  StreamPeers& operator=(const StreamPeers&) = delete;
  virtual ~StreamPeers() = default;

  /// @return how many bytes acquire has in all; equal on all ranks.
  [[nodiscard]] virtual std::size_t scratch_bytes() const noexcept = 0;
  /// @param data of the own rank. @param bytes how many. @return whether peers see them: memory of
  /// StreamTransport::allocate_registered.
  [[nodiscard]] virtual bool are_seen(const std::byte* data, std::size_t bytes) const noexcept = 0;
  /// A call begins: what it enqueues comes after all calls before, be they on other streams. Throws
  /// Error. @param stream of the call.
  virtual void begin(Stream stream) = 0;
  /// The call ends, likewise.
  virtual void end(Stream stream) = 0;
  /// @param bytes more than zero. @return memory that peers see, until give_back. Throws Error
  /// where there is no more.
  [[nodiscard]] virtual std::byte* acquire(std::size_t bytes) = 0;
  /// All that was lent is free again, in the order of the call's stream.
  virtual void give_back() noexcept = 0;
  /// Enqueues that a message is there. @param peer who may read it. @param data of it, which peers
  /// see. @param stream of the call. Throws Error.
  virtual void announce(Rank peer, const std::byte* data, Stream stream) = 0;
  /// Enqueues a wait for a peer's message. @param peer its sender. @param stream of the call.
  /// Throws Error.
  virtual void await(Rank peer, Stream stream) = 0;
  /// Enqueues that a peer's message is not needed any more. @param peer its sender. @param stream
  /// of the call. Throws Error.
  virtual void release(Rank peer, Stream stream) = 0;
  /// Enqueues a wait for that. @param peer its receiver. @param stream of the call. Throws Error.
  virtual void await_release(Rank peer, Stream stream) = 0;
  /// Enqueues a fold, as StreamTransport::fold. @param work with a built-in operator, or none.
  /// @param peers operands that are parts of messages which were awaited. @param stream of the
  /// call. Throws Error.
  virtual void fold(const Fold& work, std::span<const PeerOperand> peers, Stream stream) = 0;
  /// Throws Error{aborted} where a peer has failed, so that what was read of its memory is wrong.
  /// To be asked when a stream has come to its end.
  virtual void check() = 0;
};

/// Enqueues messages, copies and folds on streams, for the ranks of one communicator. All runs in
/// the order of its stream, and the host waits for nothing. One thread at a time, but for mark,
/// is_captured and adopt_thread.
class TUTTI_API StreamTransport {
 public:
  StreamTransport() = default;
  StreamTransport(const StreamTransport&) = delete;
  StreamTransport& operator=(const StreamTransport&) = delete;
  virtual ~StreamTransport() = default;

  /// @return what it is called, such as "nccl".
  [[nodiscard]] virtual std::string name() const = 0;
  /// @return what messages and bytes are taken to cost, by which algorithms are chosen; equal on
  /// all ranks.
  [[nodiscard]] virtual CostModel cost_model() const = 0;
  /// @return in which part of its host each rank's GPU is; equal on all ranks; empty where they do
  /// not know.
  [[nodiscard]] virtual std::vector<Locality> localities() const { return {}; }
  /// Makes the same for a part of its ranks. Collective over them. @param part a communicator of
  /// them, the own one among them. @return what its calls are enqueued on. Throws, on all of them,
  /// Error.
  [[nodiscard]] virtual std::shared_ptr<StreamTransport> divide(Communicator& part) = 0;

  /// Refuses what cannot be enqueued, before anything is. Throws Error{invalid_argument} where the
  /// stream is none of its device, or bytes lie where the device does not see them; and what failed
  /// since the last call, such as Error{peer_dead, transport}. @param stream of the call. @param in
  /// the input. @param out the output; both may be empty.
  virtual void check(Stream stream, std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// Throws what failed since the last call, as check does.
  virtual void check_health() const = 0;
  /// @param data any address. @return whether it lies in memory of a device, which the host cannot
  /// touch.
  [[nodiscard]] virtual bool is_on_device(const void* data) const = 0;
  /// Makes its device the one on which the calling thread works by itself, as where a program's
  /// function is called by a thread that is not the program's. By any thread. Throws Error.
  virtual void adopt_thread() const = 0;
  /// @return a stream for calls that say none; the same each time.
  [[nodiscard]] virtual Stream own_stream() = 0;
  /// May be called by any thread, while others call anything. @param stream of the device. @return
  /// whether what is enqueued on it is not run, but captured in a graph.
  [[nodiscard]] virtual bool is_captured(Stream stream) const = 0;
  /// @return whether exchange can be captured in a graph.
  [[nodiscard]] virtual bool is_capturable() const noexcept { return true; }
  /// May be called by any thread, while others call anything. @param stream of the device, which is
  /// not captured. @return where it is now; it may outlive this. Throws Error.
  [[nodiscard]] virtual std::unique_ptr<StreamMark> mark(Stream stream) = 0;
  /// What is enqueued from now on waits until another stream has come to where it is now.
  /// @param stream that waits. @param other for which. Both of the device. Throws Error.
  virtual void follow(Stream stream, Stream other) = 0;
  /// The same of a point that is known already. @param stream that waits. @param mark for which; of
  /// this, or of another one of the same device and name. Throws Error.
  virtual void follow(Stream stream, const StreamMark& mark) = 0;

  /// @param bytes more than zero. @param stream in whose order the memory may be used. @return
  /// device memory, aligned to 64 bytes. Throws std::bad_alloc, Error.
  [[nodiscard]] virtual std::byte* allocate(std::size_t bytes, Stream stream) = 0;
  /// Gives memory back, in the order of the stream. @param data what allocate gave. @param stream
  /// the same.
  virtual void deallocate(std::byte* data, Stream stream) noexcept = 0;
  /// Allocates what messages move best. Collective. @param bytes more than zero, equal on all
  /// ranks. @return device memory, zeroed, aligned to 64 bytes, which may outlive this. Throws, on
  /// all ranks alike, Error, also where there is no more memory.
  [[nodiscard]] virtual std::shared_ptr<std::byte> allocate_registered(std::size_t bytes) = 0;

  /// Enqueues messages that all start at once, and end before what is enqueued next begins. Between
  /// two ranks they match in the order in which they are enqueued, and both sides give a message
  /// the same number of bytes. Nothing of a message need be kept anywhere before it is received.
  /// @param messages one or more. @param stream of the call. Throws Error.
  virtual void exchange(std::span<const StreamMessage> messages, Stream stream) = 0;
  /// Enqueues a copy without overlap. @param to destination. @param from source. @param bytes how
  /// many. @param stream of the call. Throws Error.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes, Stream stream) = 0;
  /// Enqueues zeros. @param to where. @param bytes how many. @param stream of the call. Throws
  /// Error.
  virtual void clear(std::byte* to, std::size_t bytes, Stream stream) = 0;
  /// Enqueues a fold, as Memory::fold. @param work with a built-in operator. @param stream of the
  /// call. Throws Error.
  virtual void fold(const Fold& work, Stream stream) = 0;
  /// Enqueues a conversion. @param work see Conversion. @param stream of the call. Throws Error.
  virtual void convert(const Conversion& work, Stream stream) = 0;
  /// Enqueues that what is seen of elements is added to sums. @param work see Inspection. @param
  /// stream of the call. Throws Error.
  virtual void inspect(const Inspection& work, Stream stream) = 0;
  /// @return what ranks see of each other's memory, which is this one's; null where they do not;
  /// the same on all ranks.
  [[nodiscard]] virtual StreamPeers* peers() noexcept { return nullptr; }
  /// @param call any. @return whether the library underneath has a call of its own for it; equal
  /// on all ranks.
  [[nodiscard]] virtual bool has_native(const NativeCall& call) const = 0;
  /// Enqueues that call. @param call that has one. @param in the input. @param out the output; of
  /// ranks that have none, null. @param stream of the call. Throws Error.
  virtual void run_native(const NativeCall& call, const std::byte* in, std::byte* out,
                          Stream stream) = 0;
  /// Fails all that is under way, on all ranks, so that streams go on. Idempotent. @param cause
  /// what other ranks are told, as far as they can be.
  virtual void abort(const Error& cause) noexcept = 0;
};

}  // namespace tutti::v0
