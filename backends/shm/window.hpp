/// @file
/// The window: memory to which a rank copies messages for others to read.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "peers.hpp"

namespace tutti::shm {

/// The own window: pieces of memory that all peers see. Long messages are staged there, piece by
/// piece: the sender copies bytes to a piece, where they stay in its caches, and the receivers copy
/// or reduce them there. A message to several ranks is staged once.
class Window {
 public:
  /// @param peers and @param records outlive this.
  Window(Peers& peers, Records& records) noexcept : peers_{peers}, records_{records} {}

  /// Stages the next bytes of a message, if there is a free piece. @param peer that will read them.
  /// @param record of the send, whose cursor advances. @param bytes at most piece_bytes(), and at
  /// most those that are left.
  [[nodiscard]] std::optional<WindowPiece> stage(Peer& peer, Record& record, std::uint64_t bytes);
  /// @return whether stage() would find a piece for a peer.
  [[nodiscard]] bool has_room(const Peer& peer) noexcept;
  /// @return the most bytes of a piece; 0 if there is no memory for a window.
  [[nodiscard]] std::uint64_t piece_bytes();

 private:
  struct Piece {
    const std::byte* source = nullptr;  // null if the bytes were in several places
    std::uint64_t bytes = 0;
    std::uint64_t staged = 0;     // Records::posts when it was staged
    std::vector<Rank> readers{};  // ranks that may not have read it yet
  };
  [[nodiscard]] std::size_t find_same(const std::byte* source, const Record& record,
                                      std::uint64_t bytes) const noexcept;
  [[nodiscard]] std::size_t find_free() noexcept;
  [[nodiscard]] bool is_free(std::size_t index) noexcept;

  Peers& peers_;
  Records& records_;
  std::array<Piece, kWindowPieces> pieces_{};
  std::size_t last_ = 0;  // the piece staged last
  WindowMemory memory_{};
  bool is_refused_ = false;  // whether there was no memory for a window
};

}  // namespace tutti::shm
