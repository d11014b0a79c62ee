/// @file
/// The pending transfers of a communicator.
#pragma once

#include <deque>
#include <vector>

#include <tutti/spi/pieces.hpp>

#include "base/matching.hpp"
#include "ring.hpp"

namespace tutti::shm {

/// A transfer that is not done.
struct Record {
  Record* next = nullptr;  ///< The next one in its queue.
  Transfer transfer{};     ///< As posted.
  std::uint64_t bytes = 0;
  std::uint64_t moved = 0;
  Cursor cursor{};
  std::uint32_t id = 0;       ///< The own number for it.
  std::uint32_t peer_id = 0;  ///< The other side's number for it.
  InPlace in_place{};         ///< For a message that stays at its sender.
  bool in_use = false;
  bool is_alone = false;     ///< Whether it is the rank's only pending transfer.
  bool is_read = false;      ///< For a send: whether the receiver reads it in this process.
  bool is_granted = false;   ///< Whether its bytes are staged, one chunk after the other.
  bool is_accessed = false;  ///< For a receive: whether the message stays in the sender's memory.
  bool is_storing = false;   ///< For a receive: whether the result is being stored there.
  std::uint64_t posted = 0;  ///< Records::posts when it was posted.

  [[nodiscard]] detail::Envelope envelope() const noexcept {
    return {transfer.tag, transfer.fingerprint, bytes, transfer.accepts_shorter};
  }
  [[nodiscard]] bool is_send() const noexcept { return transfer.kind == Transfer::Kind::send; }
  /// Stores or combines the next bytes. @param part at most the bytes that are missing.
  void deliver(std::span<const std::byte> part) {
    if (transfer.combiner == nullptr) cursor.write(part.data(), part.size());
    else if (!part.empty()) transfer.combiner->combine(part);
    moved += part.size();
  }
};

/// The pending transfers of a communicator, with numbers by which peers name them.
class Records {
 public:
  /// @param completions of the transport; outlives this.
  explicit Records(CompletionQueue& completions) : completions_{completions} {}

  /// To be called before transfers are posted. @param count number of transfers.
  void begin_post(std::size_t count) noexcept {
    is_alone_ = count == 1 && in_use_ == 0;
    ++posts_;
  }
  /// @return the number of calls of begin_post().
  [[nodiscard]] std::uint64_t posts() const noexcept { return posts_; }
  /// @return whether the transfer posted last is the only pending one.
  [[nodiscard]] bool is_alone() const noexcept { return is_alone_; }
  /// @param bytes of the transfer's pieces. @return its record.
  [[nodiscard]] Record& add(const Transfer& transfer, std::uint64_t bytes);
  /// @param id of a record, as a peer names it. Throws Error{transport} if there is none.
  [[nodiscard]] Record& find(std::uint32_t id) {
    if (id >= records_.size() || !records_[id].in_use) throw nonsense();
    return records_[id];
  }
  /// Completes a transfer that has no record.
  void complete(std::uint64_t cookie) { completions_.push(cookie); }
  /// Completes a transfer, and frees its record. @param is_stored as in Completion.
  void complete(Record& record, bool is_stored = false) {
    completions_.push({.cookie = record.transfer.cookie, .is_stored = is_stored});
    release(record);
  }
  /// Completes a wait whose message stays in the sender's memory. @param record of the wait, which
  /// stands for the access. @param data of the message.
  void open_access(Record& record, const std::byte* data) {
    record.is_accessed = true;
    completions_.push({.cookie = record.transfer.cookie, .access = record.id, .data = data});
  }
  /// Frees a record.
  void release(Record& record) noexcept {
    record.in_use = false;
    --in_use_;
    free_.push_back(&record);
  }
  /// @return all records, with free ones.
  [[nodiscard]] std::deque<Record>& all() noexcept { return records_; }

 private:
  CompletionQueue& completions_;
  std::deque<Record> records_{};
  std::vector<Record*> free_{};
  std::size_t in_use_ = 0;
  std::uint64_t posts_ = 0;
  bool is_alone_ = false;
};

inline Record& Records::add(const Transfer& transfer, std::uint64_t bytes) {
  if (free_.empty()) {
    const auto id = static_cast<std::uint32_t>(records_.size());
    records_.emplace_back().id = id;
    free_.reserve(records_.size());
    free_.push_back(&records_.back());
  }
  Record& record = *free_.back();
  free_.pop_back();
  ++in_use_;
  record.transfer = transfer;
  record.bytes = bytes;
  record.moved = 0;
  record.cursor = Cursor{transfer.pieces};
  record.peer_id = 0;
  record.posted = posts_;
  record.is_alone = is_alone_;
  record.in_use = true;
  record.is_read = false;
  record.is_granted = false;
  record.is_accessed = false;
  record.is_storing = false;
  return record;
}

}  // namespace tutti::shm
