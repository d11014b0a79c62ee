#include "hub.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

namespace tutti::tcp {
namespace {

// Numbers of communicators that have ended are remembered, so that late frames are not taken for
// those of a communicator to come. Frames so late that this many have ended since do not exist.
constexpr std::size_t kMostGone = 65536;
constexpr std::chrono::microseconds kLingerStep{50};
// So long at the most where a communicator has failed: what it sent helps nobody.
constexpr std::chrono::milliseconds kFailedLinger{100};

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
    : self_{self}, options_{options}, limits_{options.eager_bytes, options.fragment_bytes},
      warm_{options.warm_bytes}, waste_{options.warm_bytes} {
  add(peers);
}

void Hub::add(const std::vector<Peer>& peers) {
  std::vector<std::unique_ptr<Link>> links{};  // first of all, so that every socket is owned
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

// Closing a connection that holds something unread, such as credit, makes the kernel throw away
// what is still on its way to the peer, and so does credit that comes after it was closed. In a
// forked child the connections are the parent's.
Hub::~Hub() {
  if (guard_.is_forked()) return;
  std::vector<Leaving> leaving{};
  for (const auto& link : links_) {
    if (link == nullptr || link->loss) continue;
    flush(*link);
    if (!link->socket.owes()) link->socket.end_writing();
    leaving.push_back({.link = link.get()});
  }
  for (;;) {
    std::erase_if(leaving, [this](Leaving& one) { return has_left(one); });
    if (leaving.empty()) return;
    std::this_thread::sleep_for(kLingerStep);
  }
}

// Reads what nobody will look at. Returns whether all that was written has reached the peer's host,
// or is waited for no longer: the peer, which may compute for long, is given time anew with every
// byte that gets there.
bool Hub::has_left(Leaving& one) noexcept {
  Socket& socket = one.link->socket;
  if (socket.owes()) {
    if (socket.write({}).error != 0) return true;
    if (!socket.owes()) socket.end_writing();
  }
  const iovec whole{waste_.data(), waste_.size()};
  const Moved moved = socket.read({&whole, 1});
  if (moved.error != 0) return true;
  if (moved.bytes > 0) return false;
  const int unacknowledged = socket.unacknowledged();
  if (unacknowledged == 0) return !socket.owes();
  const auto now = std::chrono::steady_clock::now();
  if (unacknowledged != std::exchange(one.unacknowledged, unacknowledged)) one.progress = now;
  return now - one.progress >= (one.link->failed ? kFailedLinger : options_.linger);
}

std::unique_ptr<Port> Hub::open(std::uint64_t id, const std::vector<Rank>& members) {
  check(!ports_.contains(id) && !gone_.contains(id), "a communicator's number was used before");
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
  port->awaited.reserve(members.size());
  awaited_links_.reserve(links_.size());
  descriptors_.reserve(links_.size());
  ports_.emplace(id, port.get());
  Queue<Inbound> others{};
  while (!early_.empty()) {
    Inbound& message = *early_.pop();
    if (message.start.communicator != id) others.push(&message);
    else if (port->rank_of(message.link->peer) < 0) forget(message);
    else admit(*port, message);
  }
  early_ = others;
  return port;
}

void Hub::close(const Port& port) noexcept {
  ports_.erase(port.id);
  if (last_found_ == &port) last_found_ = nullptr;
  gone_.insert(port.id);
  gone_order_.push_back(port.id);
  if (gone_order_.size() <= kMostGone) return;
  gone_.erase(gone_order_.front());
  gone_order_.pop_front();
}

Port* Hub::find(std::uint64_t id) noexcept {
  if (last_found_ != nullptr && last_found_->id == id) return last_found_;
  const auto found = ports_.find(id);
  if (found == ports_.end()) return nullptr;
  return last_found_ = found->second;
}

void Hub::stop(Port& port) noexcept {
  if (std::exchange(port.stopped, true)) return;
  for (Member& member : port.members) stop(member, port);
  while (!port.own.empty()) outbounds_.put(port.own.pop());
  port.unclaimed = 0;
  port.awaited.clear();
}

void Hub::stop(Member& member, const Port& port) noexcept {
  try {
    for (Queue<Receive>& posted : member.posted)
      while (!posted.empty()) receives_.put(posted.pop());
    for (Queue<Inbound>& unexpected : member.unexpected)
      while (!unexpected.empty()) forget(*unexpected.pop());
    if (member.link == nullptr) return;
    if (port.failure) member.link->failed = true;
    member.link->pending -= std::exchange(member.pending, 0);
    stop_receiving(*member.link, port);
    stop_sending(*member.link, port);
  } catch (const std::bad_alloc&) {
    lose(*member.link, {ErrorCode::transport, "lost memory"});  // so that no piece is touched
  }
}

void Hub::stop_receiving(Link& link, const Port& port) {
  if (Inbound* const inbound = link.frame.inbound; inbound != nullptr && inbound->port == &port)
    forget(*inbound);
  for (auto entry = link.announced.begin(); entry != link.announced.end();) {
    Inbound& message = *(entry++)->second;
    if (message.port == &port) forget(message);
  }
}

}  // namespace tutti::tcp
