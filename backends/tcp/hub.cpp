#include "hub.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <thread>
#include <utility>

namespace tutti::tcp {
namespace {

constexpr std::chrono::microseconds kLingerStep{50};
/// The longest wait for links of a failed communicator, whose messages are of no use.
constexpr std::chrono::milliseconds kFailedLinger{100};
/// Up to this many links are read directly; for more, poll(2) is cheaper.
constexpr std::size_t kMaxUnpolledLinks = 3;
/// Polls between two polls of the links that other communicators wait for.
constexpr std::uint32_t kPollsPerLookAround = 16;

void check(bool condition, const std::string& message) {
  if (!condition) throw Error{ErrorCode::invalid_argument, message};
}

void check(const Options& options) {
  check(options.eager_bytes > 0 && options.fragment_bytes > 0 && options.warm_bytes > 0,
        "sizes of a TCP fabric must be more than zero");
  check(options.credit_bytes >= 2 * (options.eager_bytes + kMessageCost),
        "the credit of a TCP fabric must cover two of its longest eager messages");
}

}  // namespace

Hub::Hub(Rank self, const std::vector<Peer>& peers, const Options& options)
    : self_{self}, options_{options} {
  add(peers);
}

void Hub::add(const std::vector<Peer>& peers) {
  std::vector<std::unique_ptr<Link>> links{};  // owns every socket before anything can throw
  for (const Peer& peer : peers) {
    links.push_back(std::make_unique<Link>(peer.rank, Socket{peer.socket, peer.cipher},
                                           options_.credit_bytes, &nodes_));
    links.back()->own_source = peer.own_source < 0 ? self_ : peer.own_source;
    links.back()->peer_source = peer.peer_source < 0 ? peer.rank : peer.peer_source;
  }
  check(options_);
  encrypts_ = encrypts_ ||
              std::ranges::any_of(peers, [](const Peer& peer) { return peer.cipher != nullptr; });
  for (std::unique_ptr<Link>& link : links) {
    const Rank peer = link->peer;
    check(peer >= 0 && peer != self_, "there is no peer " + std::to_string(peer));
    const auto index = static_cast<std::size_t>(peer);
    if (links_.size() <= index) links_.resize(index + 1);
    check(links_[index] == nullptr, "there are two peers " + std::to_string(peer));
    link->socket.prepare();
    links_[index] = std::move(link);
  }
}

// If a connection is closed that has unread bytes, such as credit, or that gets some later, the
// kernel drops the bytes still on their way to the peer. So all links are read until they are
// closed. In a forked child the connections belong to the parent.
Hub::~Hub() {
  end_links();
}

void Hub::end_links() noexcept try {
  if (guard_.is_forked()) return;
  std::vector<Closing> closing{};
  for (const auto& link : links_) {
    if (link == nullptr || link->loss) continue;
    sender_.flush(*link);
    if (!link->socket.has_unsent()) link->socket.end_writing();
    closing.push_back({.link = link.get()});
  }
  for (;;) {
    std::erase_if(closing, [this](Closing& one) { return is_closed(one); });
    if (closing.empty()) return;
    std::this_thread::sleep_for(kLingerStep);
  }
} catch (const std::bad_alloc&) {
  // The destructor of links_ closes the rest.
}

// A link is closed once all written bytes have reached the peer's host, or take too long. Each byte
// that gets there renews the time, since the peer may compute for long.
bool Hub::is_closed(Closing& closing) noexcept {
  Socket& socket = closing.link->socket;
  if (socket.has_unsent()) {
    if (socket.write({}).error != 0) return true;
    if (!socket.has_unsent()) socket.end_writing();
  }
  const Moved moved = reader_.discard(socket);
  if (moved.error != 0) return true;
  if (moved.bytes > 0) return false;
  const int unacknowledged = socket.unacknowledged();
  if (unacknowledged == 0) return !socket.has_unsent();
  const auto now = std::chrono::steady_clock::now();
  if (unacknowledged != std::exchange(closing.unacknowledged, unacknowledged))
    closing.progress = now;
  return now - closing.progress >= (closing.link->failed ? kFailedLinger : options_.linger);
}

std::unique_ptr<Port> Hub::open(std::uint64_t id, const std::vector<Rank>& members) {
  auto port = std::make_unique<Port>();
  port->id = id;
  port->self = -1;
  port->members.resize(members.size());
  for (std::size_t rank = 0; rank < members.size(); ++rank) {
    const Rank world = members[rank];
    const auto index = static_cast<std::size_t>(world);
    check(world >= 0, "there is no rank " + std::to_string(world));
    if (port->ranks.size() <= index) port->ranks.resize(index + 1, -1);
    check(port->ranks[index] < 0, "rank " + std::to_string(world) + " is named twice");
    port->ranks[index] = static_cast<Rank>(rank);
    Member& member = port->members[rank];
    member.link = index < links_.size() ? links_[index].get() : nullptr;
    if (world == self_) port->self = static_cast<Rank>(rank);
  }
  check(port->self >= 0, "the own rank is no member of the communicator");
  port->matcher = decltype(port->matcher){members.size()};
  port->awaited.reserve(members.size());
  awaited_links_.reserve(links_.size());
  descriptors_.reserve(links_.size());
  ports_.add(*port);
  receiver_.accept_early(*port);
  return port;
}

void Hub::stop(Port& port) noexcept {
  if (std::exchange(port.stopped, true)) return;
  const auto size = static_cast<Rank>(port.members.size());
  for (Rank rank = 0; rank < size; ++rank) stop(port, rank);
  port.awaited.clear();
}

void Hub::stop(Port& port, Rank rank) noexcept {
  Member& member = port.member(rank);
  try {
    receiver_.stop(port, rank);
    if (member.link == nullptr) return;
    if (port.failure) member.link->failed = true;
    member.link->pending -= std::exchange(member.pending, 0);
    sender_.stop(port, *member.link);
  } catch (const std::bad_alloc&) {  // the link is lost, so that no piece is touched any more
    if (std::exchange(member.link->loss, Loss{ErrorCode::transport, "lost memory"})) return;
    abandon(*member.link);
  }
}

void Hub::post(Port& port, const Transfer& transfer) {
  expects(transfer.peer >= 0 && static_cast<std::size_t>(transfer.peer) < port.members.size(),
          "a transfer names no rank of the communicator");
  const bool sends = transfer.kind == Transfer::Kind::send;
  Link* const link = port.member(transfer.peer).link;
  if (link == nullptr && transfer.peer != port.self)
    throw Error{ErrorCode::invalid_argument,
                "there is no link to rank " + std::to_string(transfer.peer)};
  if (!sends) return receiver_.post(port, transfer);
  if (link == nullptr) return receiver_.send_to_self(port, transfer);
  if (link->loss) return port.fail(transfer.peer, *link->loss);
  sender_.post(port, transfer, *link);
}

void Hub::flush(Port& port, std::span<const Transfer> transfers) {
  const Link* flushed = nullptr;  // usually all of a batch are for one peer
  for (const Transfer& transfer : transfers) {
    Link* const link = port.member(transfer.peer).link;
    if (link == nullptr || link == flushed) continue;
    sender_.flush(*link);
    flushed = link;
  }
}

void Hub::progress(Port& port) {
  awaited_links_.clear();
  if (++polls_ % kPollsPerLookAround == 0) {
    for (const auto& link : links_)
      if (link != nullptr && link->pending > 0) awaited_links_.push_back(link.get());
  } else {
    for (const Rank rank : port.awaited)
      if (Link* const link = port.member(rank).link) awaited_links_.push_back(link);
  }
  if (awaited_links_.size() <= kMaxUnpolledLinks) {
    for (Link* const link : awaited_links_) read_and_write(*link);
    return;
  }
  descriptors_.clear();
  for (const Link* const link : awaited_links_) descriptors_.push_back(events_of(*link));
  static_cast<void>(::poll(descriptors_.data(), descriptors_.size(), 0));
  for (std::size_t i = 0; i < awaited_links_.size(); ++i)
    if (descriptors_[i].revents != 0 || awaited_links_[i]->socket.has_unread())
      read_and_write(*awaited_links_[i]);
}

pollfd Hub::events_of(const Link& link) noexcept {
  const bool writes = link.has_to_write() && !link.write_failed;
  return {.fd = link.socket.descriptor(),
          .events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN),
          .revents = 0};
}

void Hub::list_awaited(const Port& port, std::vector<pollfd>& descriptors) {
  descriptors.clear();
  if (port.failure || !port.done.empty()) return;
  for (const Rank rank : port.awaited)
    if (const Link* const link = port.members[static_cast<std::size_t>(rank)].link) {
      if (link->socket.has_unread()) return descriptors.clear();
      descriptors.push_back(events_of(*link));
    }
}

void Hub::read(Link& link) {
  if (!link.loss && !reader_.read(link)) abandon(link);
}

void Hub::read_and_write(Link& link) {
  if (link.has_to_write()) sender_.flush(link);
  read(link);
  if (link.has_to_write()) sender_.flush(link);
}

// Reads too, since a peer without room may wait for room at this rank.
bool Hub::send_accepted() {
  if (!encrypts_) return true;
  bool is_done = true;
  for (const auto& link : links_) {
    if (link == nullptr || !link->socket.has_unsent() || link->write_failed || link->loss) continue;
    read_and_write(*link);
    is_done = is_done && (!link->socket.has_unsent() || link->write_failed);
  }
  return is_done;
}

// Communicators that wait for the peer fail now, others when they use the link.
void Hub::abandon(Link& link) {
  for (const auto& [id, port] : ports_.all()) {
    const Rank rank = port->rank_of(link.peer);
    if (rank >= 0 && port->member(rank).pending > 0) port->fail(rank, *link.loss);
  }
  sender_.abandon(link);
  receiver_.abandon(link);
}

// Checks only the oldest message of each queue, which should have been received first.
void Hub::find_unmatched(Port& port, std::uint64_t pending, bool thoroughly) {
  const auto size = static_cast<Rank>(port.members.size());
  for (Rank rank = 0; rank < size && !port.failure; ++rank) {
    Link* const link = port.member(rank).link;
    if (thoroughly && link != nullptr) read(*link);
    if (const auto error = port.matcher.find_unmatched(rank, pending, 1)) port.fail(*error);
  }
}

std::optional<Unexpected> Hub::probe(Port& port, Rank from, std::uint32_t tag) {
  const auto found = port.matcher.probe(from, tag, [&](Rank rank) {
    if (Link* const link = port.member(rank).link) read(*link);
  });
  if (found || from == any_rank) return found;
  const Link* const link = port.member(from).link;
  if (link != nullptr && link->loss) port.fail(from, *link->loss);
  return found;
}

}  // namespace tutti::tcp
