// Which way a message takes, on both sides.
#include <algorithm>

#include "transport.hpp"

namespace tutti::shm {
namespace {

/// From here up asking the system to read another process costs less than two copies, if the ranks
/// are in each other's way. Shorter ones go so where their receiver has asked for it.
constexpr std::uint64_t kProcessBytes = 65536;
/// A message in more pieces than this is streamed.
constexpr std::size_t kMostRanges = 64;

}  // namespace

Way ShmTransport::way_for(const Peer& peer, const Record& record) const noexcept {
  const std::span<const Piece> pieces = record.transfer.pieces;
  if (pieces.size() > kMostRanges) return Way::stream;
  if (is_lent(record.transfer, record.bytes)) return Way::loan;
  const Segment& segment = domain_->segment();
  const bool visible = std::ranges::all_of(
      pieces, [&](const Piece& piece) { return segment.contains(piece.data, piece.bytes); });
  if (visible) return Way::visible;
  const bool asked = record.bytes >= Ways::kLeast &&
                     peer.out.is_asked(Ways::bit_of(record.bytes, record.course.exchanged));
  return asked || record.bytes >= kProcessBytes ? Way::process : Way::stream;
}

// The system copies a message once, but slowly, and into memory, from where it has yet to be
// folded. So both ends copy at the same time, through a cache, if they have one in common, unless
// both have something else to do.
bool ShmTransport::is_streamed(Peer& peer, const Record& record, const Message& message) const {
  if (message.way != Way::process) return message.way == Way::stream;
  if (peer.member->process < 0) return true;
  if (crowded_ || record.bytes < kProcessBytes) return false;
  return peer.ways.streams(record.bytes, record.course,
                           record.course.folds || !record.course.exchanged);
}

// A message that waited for the one before it was not slow. What would come unasked is asked for by
// kind, for its sender must know before it begins.
void ShmTransport::learn(Peer& peer, std::uint64_t bytes, Course course, Duration began,
                         bool streamed) const {
  if (began == Duration::zero() || bytes < Ways::kLeast || peer.member->process < 0) return;
  const Duration end = now();
  peer.ways.took(bytes, course, streamed, end - std::max(began, peer.learned));
  peer.learned = end;
  if (bytes < kProcessBytes)
    peer.in.ask(Ways::bit_of(bytes, course.exchanged), !peer.ways.streams(bytes, course, true));
}

}  // namespace tutti::shm
