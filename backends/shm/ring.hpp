/// @file
/// The one-way queue between two ranks of a host: a ring of slots, and a ring of bytes beside it.
/// Each word has one writer: the sender writes slots and bytes, the receiver the counts of those
/// that it has consumed. Each side reads the other's words once and checks them, since the other
/// process may be faulty.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tutti/error.hpp>

namespace tutti::shm {

/// @return the error for shared memory with values that no correct process writes.
[[nodiscard]] inline Error nonsense() {
  return {ErrorCode::transport, "a rank of this host wrote invalid data to shared memory"};
}

/// Bytes of a slot's body.
inline constexpr std::size_t kInlineBytes = 40;

/// The meaning of a slot.
enum class SlotType : std::uint8_t {
  small,     ///< A message, its bytes in the slot.
  buffered,  ///< A message, its bytes, or the first of them, in the ring of bytes.
  more,      ///< The next bytes of the last buffered message.
  request,   ///< A message that waits for its receive; its body is a Request, or InPlace.
  grant,     ///< Asks for the bytes of a request, whose receive is posted.
  chunk,     ///< The next bytes of a granted message; its body is a Chunk.
  done       ///< All bytes of a request were read in the sender's memory.
};

/// The access of a receiver to the bytes of a request. It may always ask for staged ones.
enum class AccessMode : std::uint8_t {
  staged,    ///< The sender copies them to its window, or to the ring of bytes.
  visible,   ///< They lie in the sender's segment.
  in_place,  ///< As visible, in one run; the result may be stored there too. The body is InPlace.
  process    ///< They lie in other memory of the sender's process; the system copies them.
};

/// A slot: one cache line. The stamp is written last. It is the turn of the ring in which the slot
/// was written, so that nothing has to be cleared.
struct alignas(64) Slot {
  std::atomic<std::uint32_t> stamp;
  SlotType kind;
  std::uint8_t length;  ///< Bytes of a small message.
  AccessMode access;    ///< Access to a request.
  std::uint32_t tag;    ///< Tag of a message.
  std::uint32_t id;     ///< Number of the sender's or receiver's record of the message.
  std::uint64_t fingerprint;
  std::byte body[kInlineBytes];
};
static_assert(sizeof(Slot) == 64);

/// Bytes in the ring of bytes.
struct Extent {
  std::uint64_t end;     ///< The count of the ring's bytes consumed so far, once these are.
  std::uint32_t offset;  ///< Offset of the first one in the ring.
  std::uint32_t bytes;
};
/// The body of a buffered message.
struct Buffered {
  Extent extent;        ///< Its first bytes.
  std::uint64_t bytes;  ///< Bytes of the message.
};
/// A run of bytes of a message that is read in its sender's memory.
struct Range {
  std::uint64_t where;  ///< Offset in the segment; with AccessMode::process the address.
  std::uint64_t bytes;
};
/// Bytes in the sender's window.
struct WindowPiece {
  std::uint32_t index;
  std::uint32_t bytes;  ///< 0: none.
};
/// The body of a request.
struct Request {
  std::uint64_t bytes;  ///< Bytes of the message.
  Extent ranges;        ///< The list of its ranges, unless it is staged.
  WindowPiece first;    ///< Its first bytes, if already staged. If all are, there is no reply.
};
/// The body of a chunk. Only one member has bytes.
struct Chunk {
  Extent extent;
  WindowPiece piece;
};
/// The body of a request with AccessMode::in_place.
struct InPlace {
  Range message;
  Range result;           ///< The place to which a message to the sender may be written.
  std::uint32_t ordinal;  ///< The number of that message, as ResultPlace::ordinal.
};
/// The body of a grant and of done. The slot's id is the record of the side that reads it.
struct Answer {
  std::uint32_t id;         ///< The record of the side that writes it.
  std::uint32_t is_stored;  ///< For done: whether the result is at its destination.
  std::uint64_t moved;      ///< For grant, with AccessMode::process: the bytes that were read.
};

/// The number of pieces of a window.
inline constexpr std::size_t kWindowPieces = 8;

/// The receiver's counts of consumed slots and bytes, in its segment.
struct alignas(64) Consumed {
  std::atomic<std::uint64_t> slots;
  std::atomic<std::uint64_t> bytes;    ///< As Extent::end.
  std::atomic<std::uint64_t> matched;  ///< Payload bytes of small and buffered messages that
                                       ///< matched a receive.
  std::atomic<std::uint32_t> storing;  ///< Results that are being written to the sender's memory.
  /// By piece of the sender's window, how often the receiver has read it.
  std::array<std::atomic<std::uint32_t>, kWindowPieces> pieces;
};
static_assert(sizeof(Consumed) == 64);

/// @param byte_count of a ring of bytes. @return the most bytes of one part, so that the next one
/// can be written while one is read.
[[nodiscard]] constexpr std::size_t most_at_once(std::size_t byte_count) noexcept {
  return byte_count / 4;
}

class Mapping;

/// The memory of one queue. The sizes are powers of two.
struct QueueMemory {
  Slot* slots = nullptr;         ///< Null until the sender has sent anything.
  std::byte* bytes = nullptr;    ///< Null until a message did not fit into a slot.
  Consumed* consumed = nullptr;  ///< Set only in the receiver's end.
  std::uint32_t slot_count = 0;
  std::uint32_t byte_count = 0;
  const Mapping* mapping = nullptr;  ///< The mapping of the sender's segment.
  const std::atomic<std::uint64_t>* bytes_offset =
      nullptr;  ///< In that segment: the offset of `bytes`, or 0.
};
/// @param queue that had no ring of bytes when it was found. @return the ring. Throws
/// Error{transport} if there is none, or it lies outside the segment.
[[nodiscard]] std::byte* bytes_of(const QueueMemory& queue);

/// The sender's end. It has neither slots nor room for bytes until it is opened with some.
class SendEnd {
 public:
  SendEnd() = default;
  explicit SendEnd(const QueueMemory& queue) noexcept { open(queue); }

  /// Opens more of the queue. @param queue the same one, with more of its memory.
  void open(const QueueMemory& queue) noexcept {
    const bool had_bytes = has_bytes();
    queue_ = queue;
    shift_ = std::countr_zero(queue.slot_count);
    if (!is_open()) queue_.slot_count = 0;                       // so that there is no slot,
    if (!had_bytes) tail_ = has_bytes() ? 0 : queue.byte_count;  // and no room for bytes
  }
  /// @return whether it has slots.
  [[nodiscard]] bool is_open() const noexcept { return queue_.slots != nullptr; }
  /// @return whether it has a ring of bytes.
  [[nodiscard]] bool has_bytes() const noexcept { return queue_.bytes != nullptr; }
  /// To be called when the receiver has made the communicator. @param consumed its counts.
  void attach(const Consumed* consumed) noexcept { consumed_ = consumed; }
  /// @return whether a slot is free. Reads the receiver's counts only if necessary, since that
  /// costs the transfer of a cache line.
  [[nodiscard]] bool has_slot() noexcept {
    if (head_ - seen_slots_ < queue_.slot_count) return true;
    if (consumed_ == nullptr) return false;
    seen_slots_ = consumed_->slots.load(std::memory_order_acquire);
    return head_ - seen_slots_ < queue_.slot_count;
  }
  /// @return whether there are slots and room for bytes that are sent in parts.
  [[nodiscard]] bool fits(std::size_t bytes, std::size_t part) noexcept;
  /// @return the free slot that will be sent next; fill all but its stamp.
  [[nodiscard]] Slot& slot() noexcept { return queue_.slots[head_ & (queue_.slot_count - 1)]; }
  /// Sends the slot.
  void send() noexcept {
    const auto turn = static_cast<std::uint32_t>(head_ >> shift_) + 1;
    slot().stamp.store(turn, std::memory_order_release);
    ++head_;
  }
  /// Finds room in the ring of bytes. @param bytes at most byte_limit(). @param extent is filled.
  /// @return whether there is room; commit_room reserves it.
  [[nodiscard]] bool find_room(std::size_t bytes, Extent& extent) noexcept;
  /// @param extent that find_room filled. @return the place of its bytes.
  [[nodiscard]] std::byte* at(const Extent& extent) const noexcept {
    return queue_.bytes + extent.offset;
  }
  void commit_room(const Extent& extent) noexcept { tail_ = extent.end; }
  /// @return the most bytes of one part.
  [[nodiscard]] std::size_t byte_limit() const noexcept { return most_at_once(queue_.byte_count); }
  /// @param refresh whether to read the receiver's count.
  /// @return the sent payload bytes that have not matched a receive, by the count read last.
  [[nodiscard]] std::uint64_t unreceived(bool refresh) noexcept {
    if (refresh && consumed_ != nullptr)
      seen_matched_ = consumed_->matched.load(std::memory_order_acquire);
    return sent_ - std::min(sent_, seen_matched_);
  }
  void count_payload(std::size_t bytes) noexcept { sent_ += bytes; }
  /// @return slots sent.
  [[nodiscard]] std::uint64_t sent() const noexcept { return head_; }
  /// @return whether the receiver's counts have changed since they were read.
  [[nodiscard]] bool has_news() const noexcept {
    return consumed_ != nullptr &&
           (consumed_->slots.load(std::memory_order_acquire) != seen_slots_ ||
            consumed_->bytes.load(std::memory_order_acquire) != seen_bytes_ ||
            consumed_->matched.load(std::memory_order_acquire) != seen_matched_);
  }

 private:
  QueueMemory queue_{};
  const Consumed* consumed_ = nullptr;
  int shift_ = 0;
  std::uint64_t head_ = 0;  // slots sent
  std::uint64_t tail_ = 0;  // bytes used
  std::uint64_t sent_ = 0;  // payload of small and buffered messages
  std::uint64_t seen_slots_ = 0;
  std::uint64_t seen_bytes_ = 0;
  std::uint64_t seen_matched_ = 0;
};

inline bool SendEnd::find_room(std::size_t bytes, Extent& extent) noexcept {
  const std::uint64_t size = queue_.byte_count;
  std::uint64_t begin = tail_;
  const std::uint64_t offset = begin & (size - 1);
  if (bytes > size - offset) begin += size - offset;  // a part never wraps around
  // The next writer starts on a line of its own.
  const std::uint64_t end = (begin + bytes + 63) & ~std::uint64_t{63};
  if (end - seen_bytes_ > size) {
    if (consumed_ == nullptr) return false;
    seen_bytes_ = consumed_->bytes.load(std::memory_order_acquire);
    if (end - seen_bytes_ > size) return false;
  }
  extent = {end, static_cast<std::uint32_t>(begin & (size - 1)), static_cast<std::uint32_t>(bytes)};
  return true;
}

inline bool SendEnd::fits(std::size_t bytes, std::size_t part) noexcept {
  const std::uint64_t slots = (bytes + part - 1) / part;
  // Each part ends on a line of its own, and one may have to begin again at the front.
  const std::uint64_t room = bytes + slots * 64 + std::min(bytes, part);
  if (head_ + slots - seen_slots_ <= queue_.slot_count &&
      tail_ + room - seen_bytes_ <= queue_.byte_count)
    return true;
  if (consumed_ == nullptr) return false;
  seen_slots_ = consumed_->slots.load(std::memory_order_acquire);
  seen_bytes_ = consumed_->bytes.load(std::memory_order_acquire);
  return head_ + slots - seen_slots_ <= queue_.slot_count &&
         tail_ + room - seen_bytes_ <= queue_.byte_count;
}

/// The slot of a ReceiveEnd without a queue, which is never written.
inline Slot no_slot{};

/// The receiver's end.
class ReceiveEnd {
 public:
  ReceiveEnd() noexcept {
    queue_.slots = &no_slot;
    queue_.slot_count = 1;
  }
  /// @param queue that has slots.
  explicit ReceiveEnd(const QueueMemory& queue) noexcept
      : queue_{queue}, shift_{std::countr_zero(queue.slot_count)} {}

  [[nodiscard]] bool attached() const noexcept { return queue_.slots != &no_slot; }
  /// @return whether a slot has come.
  [[nodiscard]] bool has_slot() const noexcept {
    const auto turn = static_cast<std::uint32_t>(next_ >> shift_) + 1;
    return slot().stamp.load(std::memory_order_acquire) == turn;
  }
  /// @return the next slot.
  [[nodiscard]] const Slot& slot() const noexcept {
    return queue_.slots[next_ & (queue_.slot_count - 1)];
  }
  /// @return the number of consumed slots.
  [[nodiscard]] std::uint64_t consumed() const noexcept { return next_; }
  /// @param extent from a slot. @return its bytes. Throws Error{transport} if it leaves the ring.
  [[nodiscard]] const std::byte* at(const Extent& extent) {
    if (queue_.bytes == nullptr) queue_.bytes = bytes_of(queue_);
    if (extent.offset > queue_.byte_count || extent.bytes > queue_.byte_count - extent.offset)
      throw nonsense();
    return queue_.bytes + extent.offset;
  }
  /// Releases a slot. It prefetches the slot after the next one: otherwise each of many messages in
  /// a row would wait for its cache line.
  void consume() noexcept {
    queue_.consumed->slots.store(++next_, std::memory_order_release);
    __builtin_prefetch(&queue_.slots[(next_ + 1) & (queue_.slot_count - 1)]);
  }
  /// Releases bytes of the ring.
  void consume(const Extent& extent) noexcept {
    queue_.consumed->bytes.store(extent.end, std::memory_order_release);
  }
  void count_match(std::size_t bytes) noexcept {
    matched_ += bytes;
    queue_.consumed->matched.store(matched_, std::memory_order_release);
  }

 private:
  QueueMemory queue_{};
  int shift_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t matched_ = 0;
};

/// Reads a slot's body. @tparam Body its type. @return a copy.
template <class Body>
[[nodiscard]] Body body_of(const Slot& slot) noexcept {
  static_assert(sizeof(Body) <= kInlineBytes);
  Body body;
  std::memcpy(&body, slot.body, sizeof body);
  return body;
}
/// Writes a slot's body.
template <class Body>
void set_body(Slot& slot, const Body& body) noexcept {
  static_assert(sizeof(Body) <= kInlineBytes);
  std::memcpy(slot.body, &body, sizeof body);
}

}  // namespace tutti::shm
