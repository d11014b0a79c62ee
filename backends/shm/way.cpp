// Which way a message takes, on both sides.
#include <algorithm>
#include <array>

#include "transport.hpp"

namespace tutti::shm {
namespace {

/// From here up asking the system to read another process costs less than two copies, if the ranks
/// are in each other's way. Shorter ones go so where their receiver has asked for it.
constexpr std::uint64_t kProcessBytes = 65536;
/// A message in more pieces than this is streamed.
constexpr std::size_t kMostRanges = 64;

/// The ways to take a message, first what is right more often. The system copies it once, but
/// slowly, and into memory, from where it has yet to be folded. So both ends copy at the same time,
/// through a cache, if they have one in common, unless both have something else to do. Where they
/// have none, what one has in its own reaches the other line by line, several times as slowly as
/// out of memory; or both ask the system.
constexpr std::array kAlone{Take::stream, Take::past, Take::read, Take::share};
constexpr std::array kFolded{Take::stream, Take::past, Take::read};
constexpr std::array kExchanged{Take::read, Take::stream, Take::past};
constexpr std::array kUnreadable{Take::stream, Take::past};
/// What both ranks see is read where it lies, and where it is long and neither has anything else to
/// do one core alone would take as long again.
constexpr std::array kSeen{Take::share, Take::read};
constexpr std::uint64_t kSharedVisible = std::uint64_t{512} << 10;

}  // namespace

Way ShmTransport::way_for(const Peer& peer, const Record& record) const noexcept {
  const std::span<const Piece> pieces = record.transfer.pieces;
  if (pieces.size() > kMostRanges) return Way::stream;
  if (is_in_place(record.transfer)) return Way::in_place;
  const Segment& segment = domain_->segment();
  const bool visible = std::ranges::all_of(
      pieces, [&](const Piece& piece) { return segment.contains(piece.data, piece.bytes); });
  if (visible) return Way::visible;
  const bool is_read = asked_for(peer, record.bytes, record.course.exchanged) == Take::read;
  return is_read || record.bytes >= kProcessBytes ? Way::process : Way::stream;
}

Take ShmTransport::asked_for(const Peer& peer, std::uint64_t bytes, bool exchanged) noexcept {
  if (bytes < Ways::kLeast) return Take::stream;
  return static_cast<Take>(peer.out.asked(Ways::kind_of(bytes, exchanged)));
}

Take ShmTransport::take_of(Peer& peer, const Record& record, const Message& message,
                           std::size_t ranges) const {
  if (message.way == Way::stream) return Take::stream;
  const bool can_read = peer.member->process >= 0;
  const bool is_seen = message.way != Way::process;
  const auto [folds, exchanged] = record.course;
  const bool may_share = !folds && !exchanged && can_read && peer.may_share && ranges == 1 &&
                         record.transfer.pieces.size() == 1;
  const std::uint64_t least = is_seen ? kSharedVisible : kProcessBytes;
  if ((is_seen || can_read) && (crowded_ || record.bytes < least)) return Take::read;
  if (is_seen && !may_share) return Take::read;
  std::span<const Take> takes = kFolded;
  if (is_seen) takes = kSeen;
  else if (!can_read) takes = kUnreadable;
  else if (!folds && exchanged) takes = kExchanged;
  else if (may_share) takes = kAlone;
  return peer.ways().choose(record.bytes, record.course, takes);
}

// A message that waited for the one before it was not slow. What would come unasked is asked for by
// kind, for its sender must know before it begins.
void ShmTransport::learn(Peer& peer, std::uint64_t bytes, Course course, Duration began,
                         Take take) const {
  if (began == Duration::zero() || bytes < Ways::kLeast) return;
  const Duration end = now();
  const bool are_copies_timed = times_copies(bytes);
  peer.ways().took(bytes, course, take,
                   end - (are_copies_timed ? began : std::max(began, peer.learned)));
  peer.learned = end;
  if (bytes >= kProcessBytes && !crowded_) return;
  const bool may_be_read = peer.member->process >= 0 && !are_copies_timed;
  std::span<const Take> takes = kUnreadable;
  if (may_be_read) takes = kFolded;
  const Take wanted = peer.ways().choose(bytes, course, takes);
  peer.in.ask(Ways::kind_of(bytes, course.exchanged), static_cast<unsigned>(wanted));
}

// Where ranks share cores, how long a message is under way says who ran meanwhile, and short ones
// have others before them; how long both copy says whose caches the ring lies in.
bool ShmTransport::times_copies(std::uint64_t bytes) const noexcept {
  return crowded_ || bytes < Ways::kLong;
}

// As if the receiver copied after the sender, without any time between them.
Duration ShmTransport::began_to_take(std::uint64_t bytes, Duration ours,
                                     Duration theirs) const noexcept {
  if (theirs <= Duration::zero()) return Duration::zero();
  const Duration at = now();
  theirs = std::min(theirs, at);
  return times_copies(bytes) ? at - theirs : std::max(ours, theirs);
}

}  // namespace tutti::shm
