// Which way a message takes, on both sides.
#include <algorithm>

#include "transport.hpp"

namespace tutti::shm {
namespace {

/// From here up asking the system to read another process costs less than two copies, if the ranks
/// are in each other's way.
constexpr std::uint64_t kProcessBytes = 65536;
/// A message in more pieces than this is streamed.
constexpr std::size_t kMostRanges = 64;
/// What both ranks see is read where it lies, and from here up, where neither has anything else to
/// do and memory is what it takes, by both.
constexpr std::uint64_t kSharedVisible = std::uint64_t{8} << 20;

}  // namespace

bool ShmTransport::is_visible(const Transfer& transfer) const noexcept {
  const Segment& segment = domain_->segment();
  return std::ranges::all_of(transfer.pieces, [&](const Piece& piece) {
    return segment.contains(piece.data, piece.bytes);
  });
}

AccessMode ShmTransport::access_for(const Record& record) const noexcept {
  const std::span<const Piece> pieces = record.transfer.pieces;
  if (pieces.size() > kMostRanges) return AccessMode::stream;
  if (is_in_place(record.transfer)) return AccessMode::in_place;
  if (is_visible(record.transfer)) return AccessMode::visible;
  return record.bytes >= kProcessBytes ? AccessMode::process : AccessMode::stream;
}

// The system copies a message once, but slowly, and into memory, from where it has yet to be
// reduced. So it is asked where the other rank has something else to do, or runs on the same core,
// and where both ranks can ask it for a part.
ShmTransport::PayloadPath ShmTransport::path_of(const Peer& peer, const Record& record,
                                                const Message& message, std::size_t ranges) const {
  if (message.access == AccessMode::stream) return PayloadPath::stream;
  const bool can_read = peer.member->process >= 0;
  const bool is_seen = message.access != AccessMode::process;
  if (!is_seen && !can_read) return PayloadPath::stream;
  const bool folds = record.transfer.combiner != nullptr;
  const bool may_share = !folds && !record.is_exchanged && can_read && peer.may_share &&
                         ranges == 1 && record.transfer.pieces.size() == 1 && !crowded_;
  if (is_seen)
    return may_share && record.bytes >= kSharedVisible ? PayloadPath::share : PayloadPath::read;
  if (may_share) return PayloadPath::share;
  return folds && !crowded_ ? PayloadPath::stream : PayloadPath::read;
}

}  // namespace tutti::shm
