#include "payload_path.hpp"

#include <algorithm>

namespace tutti::shm {
namespace {

/// The least bytes of a message for which asking the system to read another process costs less than
/// two copies, if the ranks are in each other's way.
constexpr std::uint64_t kProcessBytes = 65536;
/// A message in more pieces than this is streamed.
constexpr std::size_t kMostRanges = 64;
/// The least bytes of a visible message that both ranks copy at once, where neither has anything
/// else to do: for these the time is that of the memory. Shorter ones are read where they lie.
constexpr std::uint64_t kSharedVisible = std::uint64_t{8} << 20;

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
  if (pieces.size() > kMostRanges) return AccessMode::stream;
  if (is_in_place(domain, peer, record.transfer)) return AccessMode::in_place;
  if (is_visible(domain, peer, record.transfer)) return AccessMode::visible;
  return record.bytes >= kProcessBytes ? AccessMode::process : AccessMode::stream;
}

// The system copies a message once, but slowly, and into memory, from where it has yet to be
// reduced. So it is used where the other rank has something else to do, or runs on the same core,
// and where each of the two ranks can copy a part.
PayloadPath payload_path_of(const Peer& peer, const Record& record, const Message& message,
                            std::size_t ranges, bool is_crowded) noexcept {
  if (message.access == AccessMode::stream) return PayloadPath::stream;
  const bool can_read = peer.member->process >= 0;
  const bool is_seen = message.access != AccessMode::process;
  if (!is_seen && !can_read) return PayloadPath::stream;
  const bool folds = record.transfer.combiner != nullptr;
  const bool may_share = !folds && !record.is_exchanged && can_read && peer.may_share &&
                         ranges == 1 && record.transfer.pieces.size() == 1 && !is_crowded;
  if (is_seen)
    return may_share && record.bytes >= kSharedVisible ? PayloadPath::share : PayloadPath::read;
  if (may_share) return PayloadPath::share;
  return folds && !is_crowded ? PayloadPath::stream : PayloadPath::read;
}

}  // namespace tutti::shm
