/// @file
/// Window: memory to which a rank copies what others are to read.
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
  /// @param record of the send, whose cursor advances. @param bytes at most piece_bytes(), and no
  /// more than are to come. @return the piece; its index is what the peer needs.
  [[nodiscard]] std::optional<WindowPiece> stage(Peer& peer, Record& record, std::uint64_t bytes);
  /// @param peer any. @return whether stage would find a piece for it.
  [[nodiscard]] bool has_room(const Peer& peer) noexcept;
  /// @return the most bytes of a piece; 0 if there is no memory for a window.
  [[nodiscard]] std::uint64_t piece_bytes();

 private:
  struct Piece {
    const std::byte* source = nullptr;  // null if the bytes were in several places
    std::uint64_t bytes = 0;
    std::uint64_t staged = 0;     // as Records::posts
    std::vector<Rank> readers{};  // that may not have read it yet
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
  bool is_refused_ = false;  // there was no memory
};

}  // namespace tutti::shm
