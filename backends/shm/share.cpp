// Messages that both ranks copy at a time, where neither has anything else to do: the receiver
// reads the first bytes where they lie, the sender writes the others where they belong.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport.hpp"

namespace tutti::shm {
namespace {

/// The receiver's part, in sixteenths: the system reads quicker than it writes, and the receiver
/// begins first.
constexpr std::uint64_t kReadSixteenths = 9;
/// Bytes written in one poll, as receive.cpp's kReadBytes.
constexpr std::uint64_t kWriteBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kBorder = 4096;

}  // namespace

// The parts meet at a page of the receiver's, so that no two cores write into one.
void ShmTransport::ask_for_rest(Peer& peer, Record& record, std::uint32_t id, Range& first) {
  const auto begin = reinterpret_cast<std::uint64_t>(record.transfer.pieces.front().data);
  const std::uint64_t border =
      (begin + record.bytes / 16 * kReadSixteenths + kBorder - 1) / kBorder * kBorder;
  first.bytes = border - begin;
  record.rest = {border, record.bytes - first.bytes};
  send_answer(peer, {Kind::share, record.theirs, id});
}

void ShmTransport::take_share(Peer& peer, const Slot& slot) {
  const auto share = body_of<Share>(slot);
  Record& record = record_of(slot.id);
  if (record.transfer.kind != Transfer::Kind::send || record.transfer.pieces.size() != 1 ||
      record.is_streamed || record.path == PayloadPath::share || share.place.bytes == 0 ||
      share.place.bytes > record.bytes)
    throw nonsense();
  record.path = PayloadPath::share;
  record.rest = share.place;
  record.theirs = share.receiver;
  peer.pushes.push_back(slot.id);
}

void ShmTransport::push_all(Peer& peer) {
  for (std::size_t i = 0; i < peer.pushes.size();) {
    const std::uint32_t id = peer.pushes[i];
    Record& record = records_[id];
    const bool is_stored = push_some(peer, record);
    if (is_stored && record.rest.bytes > 0) {
      ++i;
      continue;
    }
    record.rest = {};
    peer.pushes.erase(peer.pushes.begin() + static_cast<std::ptrdiff_t>(i));
    send_answer(peer, {Kind::stored, record.theirs, id, is_stored});
  }
}

// Either the receiver sees that we write, and waits with its abort, or we see that it has given up.
// @return whether all went well.
bool ShmTransport::push_some(Peer& peer, Record& record) {
  if (peer.member->process < 0) return false;
  const std::byte* const data = record.transfer.pieces.front().data + record.bytes;
  const std::uint64_t bytes = std::min(record.rest.bytes, kWriteBytes);
  std::atomic<std::uint32_t>& storing = peer.consumed_here->storing;
  storing.fetch_add(1, std::memory_order_seq_cst);
  const bool may = may_touch(peer);
  const ssize_t put = may ? process_copies_.write(peer.member->process, record.rest.where,
                                                  data - record.rest.bytes, bytes)
                          : -1;
  const bool is_interrupted = may && put < 0 && errno == EINTR;
  storing.fetch_sub(1, std::memory_order_release);
  if (put <= 0) return is_interrupted;
  record.rest.where += static_cast<std::uint64_t>(put);
  record.rest.bytes -= static_cast<std::uint64_t>(put);
  return true;
}

// Where the sender could not write, we read those bytes too, and do not ask it again.
void ShmTransport::take_stored(Peer& peer, const Slot& slot) {
  Record& record = record_of(slot.id);
  const Range rest = std::exchange(record.rest, {});
  if (record.transfer.kind == Transfer::Kind::send || rest.bytes == 0) throw nonsense();
  if (body_of<Answer>(slot).is_there != 0) {
    record.moved += rest.bytes;
    return;
  }
  peer.may_share = false;
  const auto pull = std::ranges::find(peer.pulls, slot.id, &Pull::record);
  expects(pull != peer.pulls.end(), "what is shared is read, too");
  const Range& first = pull->ranges.front();
  pull->ranges.push_back({first.where + first.bytes, rest.bytes});
}

}  // namespace tutti::shm
