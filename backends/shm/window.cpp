#include "window.hpp"

#include <algorithm>
#include <new>

namespace tutti::shm {
namespace {

/// The most pieces that one peer has not read, so that one is left for other peers.
constexpr std::size_t kUnread = 7;

/// @return whether the peer has read all that was staged for it in a piece.
bool has_read(const Peer& peer, std::size_t index) noexcept {
  return peer.consumed_there != nullptr &&
         peer.consumed_there->pieces[index].load(std::memory_order_acquire) == peer.staged[index];
}

std::size_t unread(const Peer& peer) noexcept {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kWindowPieces; ++i)
    if (peer.staged[i] != 0 && !has_read(peer, i)) ++count;
  return count;
}

/// @return the address of the next bytes of a message, or null if they lie in several places.
const std::byte* source_of(Cursor cursor, std::uint64_t bytes) noexcept {
  const tutti::Piece run = cursor.next(bytes);
  return run.bytes == bytes ? run.data : nullptr;
}

}  // namespace

std::uint64_t Window::piece_bytes() {
  if (memory_.data == nullptr && !is_refused_) try {
      memory_ = peers_.open_window();
    } catch (const std::bad_alloc&) {
      is_refused_ = true;
    }
  return memory_.piece_bytes;
}

std::optional<WindowPiece> Window::stage(Peer& peer, Record& record, std::uint64_t bytes) {
  if (unread(peer) >= kUnread) return {};
  const std::byte* const source = source_of(record.cursor, bytes);
  std::size_t index = find_same(source, record, bytes);
  if (index < kWindowPieces) {
    record.cursor.pass(bytes, [](std::span<const std::byte>) {});
  } else {
    index = find_free();
    if (index == kWindowPieces) return {};
    copy_to_shared(peer, record.cursor, memory_.data + index * memory_.piece_bytes, bytes);
    pieces_[index] = {source, bytes, records_.posts(), std::move(pieces_[index].readers)};
    last_ = index;
  }
  pieces_[index].readers.push_back(peer.rank);
  ++peer.staged[index];
  return WindowPiece{static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(bytes)};
}

// The bytes of a send do not change after it was posted, so a piece that was staged since then from
// the same memory has the same bytes.
std::size_t Window::find_same(const std::byte* source, const Record& record,
                              std::uint64_t bytes) const noexcept {
  if (source == nullptr) return kWindowPieces;
  const auto is_same = [&](const Piece& piece) {
    return piece.source == source && piece.bytes == bytes && piece.staged >= record.posted;
  };
  return static_cast<std::size_t>(std::ranges::find_if(pieces_, is_same) - pieces_.begin());
}

// Takes pieces in turn: the lines of the last one are in its reader's caches, from which they would
// have to be fetched back.
std::size_t Window::find_free() noexcept {
  for (std::size_t i = 1; i <= kWindowPieces; ++i) {
    const std::size_t index = (last_ + i) % kWindowPieces;
    if (is_free(index)) return index;
  }
  return kWindowPieces;
}

bool Window::is_free(std::size_t index) noexcept {
  std::vector<Rank>& readers = pieces_[index].readers;
  std::erase_if(readers, [&](Rank rank) { return has_read(peers_[rank], index); });
  return readers.empty();
}

bool Window::has_room(const Peer& peer) noexcept {
  return memory_.data != nullptr && unread(peer) < kUnread && find_free() < kWindowPieces;
}

}  // namespace tutti::shm
