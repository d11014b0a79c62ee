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

Way ShmTransport::way_for(const Record& record) const noexcept {
  const std::span<const Piece> pieces = record.transfer.pieces;
  if (pieces.size() > kMostRanges) return Way::stream;
  if (is_in_place(record.transfer)) return Way::in_place;
  if (is_visible(record.transfer)) return Way::visible;
  return record.bytes >= kProcessBytes ? Way::process : Way::stream;
}

// The system copies a message once, but slowly, and into memory, from where it has yet to be
// reduced. So it is asked where the other rank has something else to do, or runs on the same core,
// and where both ranks can ask it for a part.
ShmTransport::Take ShmTransport::take_of(const Peer& peer, const Record& record,
                                         const Message& message, std::size_t ranges) const {
  if (message.way == Way::stream) return Take::stream;
  const bool can_read = peer.member->process >= 0;
  const bool is_seen = message.way != Way::process;
  if (!is_seen && !can_read) return Take::stream;
  const bool folds = record.transfer.combiner != nullptr;
  const bool may_share = !folds && !record.is_exchanged && can_read && peer.may_share &&
                         ranges == 1 && record.transfer.pieces.size() == 1 && !crowded_;
  if (is_seen) return may_share && record.bytes >= kSharedVisible ? Take::share : Take::read;
  if (may_share) return Take::share;
  return folds && !crowded_ ? Take::stream : Take::read;
}

}  // namespace tutti::shm
