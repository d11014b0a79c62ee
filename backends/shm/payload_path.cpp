#include "payload_path.hpp"

#include <algorithm>

namespace tutti::shm {
namespace {

/// A message in more pieces than this is staged.
constexpr std::size_t kMostRanges = 64;
/// A visible message of at least this many bytes is staged too, if it is not reduced: then both
/// ranks copy, and only the memory behind the caches limits their speed.
constexpr std::uint64_t kStagedVisible = std::uint64_t{8} << 20;

}  // namespace

bool is_visible(const Domain& domain, const Peer& peer, const Transfer& transfer) noexcept {
  return std::ranges::all_of(transfer.pieces, [&](const Piece& piece) {
    return domain.find_offset(piece.data, piece.bytes, *peer.member).has_value();
  });
}

bool is_in_place(const Domain& domain, const Peer& peer, const Transfer& transfer) noexcept {
  const ResultPlace& result = transfer.result;
  if (result.data == nullptr || transfer.pieces.size() > 1) return false;
  const Piece& piece = transfer.pieces.front();
  return domain.find_offset(piece.data, piece.bytes, *peer.member) &&
         domain.find_offset(result.data, result.bytes, *peer.member);
}

AccessMode access_mode_of(const Domain& domain, const Peer& peer, const Record& record) noexcept {
  const std::span<const Piece> pieces = record.transfer.pieces;
  if (pieces.size() > kMostRanges) return AccessMode::staged;
  if (is_in_place(domain, peer, record.transfer)) return AccessMode::in_place;
  const bool is_long = record.bytes >= kStagedVisible && !record.transfer.reduced;
  if (is_visible(domain, peer, record.transfer))
    return is_long ? AccessMode::staged : AccessMode::visible;
  // The sender of a message that is sent alone has time to stage it, and the receiver of one that
  // is reduced combines it in the window, but would copy it before.
  const bool is_copied_once = peer.reads_process && !record.is_alone && !record.transfer.reduced;
  return is_copied_once ? AccessMode::process : AccessMode::staged;
}

}  // namespace tutti::shm
