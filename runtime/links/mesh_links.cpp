#include "mesh_links.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "runtime/sockets/descriptors.hpp"
#include "runtime/sockets/interruptible.hpp"
#include "runtime/sockets/missing_ranks.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The time in which a rank that fails tries to notify rank 0.
constexpr std::chrono::milliseconds kAbortTime{500};

/// The answers of a rank about the memory that it received.
constexpr std::byte kUsable{1};
constexpr std::byte kUnusable{0};

/// Each rank sends this byte to each peer when it is connected to all of its peers.
constexpr std::byte kComplete{2};

}  // namespace

MeshConnector::MeshConnector(const MeshPlan& plan, std::vector<Listener> listeners,
                             Deadline deadline)
    : plan_{plan}, deadline_{deadline}, links_(plan.infos.size()), arrived_(plan.infos.size()),
      complete_(plan.infos.size()) {
  acceptor_.emplace(plan.self, std::move(listeners),
                    [this](const ConnectionRequest& request) { return admit(request); });
  for (std::size_t rank = 0; rank < links_.size(); ++rank)
    links_[rank].peer = static_cast<Rank>(rank);
}

void MeshConnector::run() {
  // Rank 0 only accepts, so rank 1 can soon finish its connections, and so on: there is no cycle.
  for (Rank peer = 0; peer < plan_.self.rank; ++peer) connect_to_rank(peer);
  while (!missing().empty()) serve();
  send_complete();
  while (const MeshLink* awaited = incomplete_peer()) {
    if (Clock::now() >= deadline_)  // a rank that misses others names them
      throw Departure{ErrorCode::timeout,
                      name_of(awaited->peer) + " was not connected to all ranks at the deadline",
                      awaited->peer};
    serve();
  }
}

std::vector<MeshLink> MeshConnector::take_links() {
  // Without those of this rank and of ranks that were not to be connected.
  std::erase_if(links_, [](const MeshLink& link) { return !link.control; });
  return std::move(links_);
}

void MeshConnector::abort() noexcept {
  const bool is_known =
      std::ranges::any_of(links_, [](const MeshLink& link) { return bool{link.control}; });
  links_.clear();
  acceptor_.reset();
  if (is_known || plan_.self.rank == 0) return;
  try {  // rank 0 sees this connection end and fails too, which the others see
    const Deadline soon = std::min(deadline_, Clock::now() + kAbortTime);
    (void)dial(plan_.self,
               {.addresses = {plan_.addresses.front()},
                .peer = name_of(0),
                .to = 0,
                .purpose = Purpose::control,
                .listening = true},
               soon);
  } catch (const std::exception&) {  // rank 0 waits until its deadline
    return;
  }
}

std::string MeshConnector::name_of(Rank rank) const {
  return "rank " + std::to_string(rank) + " (host " + info_of(rank).host.name + ")";
}

bool MeshConnector::can_share_memory(Rank peer) const {
  const PeerInfo& own = info_of(plan_.self.rank);
  if (plan_.only_local)
    return share_memory(own.host, info_of(peer).host) &&
           share_loopback(own.host, info_of(peer).host);
  return own.has_memory && info_of(peer).has_memory && share_memory(own.host, info_of(peer).host);
}

void MeshConnector::connect_to_rank(Rank peer) {
  if (plan_.only_local && !can_share_memory(peer)) return;
  if (can_share_memory(peer) && connect_by_unix(peer)) return;
  if (plan_.only_local)
    throw Error{ErrorCode::transport, name_of(peer) + " is on this host and cannot be reached",
                peer};
  MeshLink& link = link_of(peer);
  link.control = connect_by_tcp(peer, Purpose::control);
  if (plan_.carries_data) link.data = connect_by_tcp(peer, Purpose::data);
}

/// @return whether memory is shared now. The acceptor has the same result.
bool MeshConnector::connect_by_unix(Rank peer) {
  Descriptor socket = dial(plan_.self,
                           {.local_name = plan_.names[static_cast<std::size_t>(peer)],
                            .peer = name_of(peer),
                            .to = peer,
                            .purpose = Purpose::local,
                            .listening = true},
                           deadline_);
  if (!socket) return false;  // the peer is in another network namespace
  return exchange_memory(peer, std::move(socket), true);
}

Descriptor MeshConnector::connect_by_tcp(Rank peer, Purpose purpose) {
  return dial(plan_.self,
              {.addresses = {plan_.addresses[static_cast<std::size_t>(peer)]},
               .peer = name_of(peer),
               .to = peer,
               .purpose = purpose,
               .listening = true},
              deadline_);
}

Reason MeshConnector::admit(const ConnectionRequest& request) {
  if (request.from <= plan_.self.rank) return Reason::unexpected;
  ArrivedLinks& arrived = arrived_[static_cast<std::size_t>(request.from)];
  const auto accept_once = [](bool taken) { return taken ? Reason::duplicate_rank : Reason::none; };
  switch (request.purpose) {
    case Purpose::local:
      return can_share_memory(request.from) ? accept_once(std::exchange(arrived.local, true))
                                            : Reason::unexpected;
    case Purpose::control:
      if (plan_.only_local) return Reason::unexpected;
      return accept_once(std::exchange(arrived.control, true));
    case Purpose::data:
      return plan_.carries_data && !plan_.only_local
                 ? accept_once(std::exchange(arrived.data, true))
                 : Reason::unexpected;
    case Purpose::store:
    case Purpose::end: break;
  }
  return Reason::unexpected;
}

/// Waits for new connections, and for input or the end of existing ones.
void MeshConnector::serve() {
  polled_.assign(1, {.fd = acceptor_->descriptor(), .events = POLLIN, .revents = 0});
  for (const MeshLink& link : links_)  // poll ignores a negative descriptor
    polled_.push_back({.fd = link.control.get(), .events = POLLIN, .revents = 0});
  const Deadline next = std::min(deadline_, acceptor_->next_deadline());
  if (::poll(polled_.data(), polled_.size(), milliseconds_until(next_look(next))) < 0) {
    if (errno != EINTR) throw system_error("cannot wait for connections", errno);
    return;
  }
  std::vector<AcceptedConnection> arrived;
  acceptor_->progress(arrived);
  for (AcceptedConnection& accepted : arrived) store_connection(std::move(accepted));
  read_links();
  if (const auto absent = missing(); !absent.empty() && Clock::now() >= deadline_) {
    MissingRanks known{
        .self = plan_.self.rank, .waited = Clock::now() - start_, .missing = absent, .hosts = {}};
    for (const PeerInfo& info : plan_.infos) known.hosts.push_back(info.host.name);
    const Error error = missing_ranks(known);
    throw Error{error.code(), error.what() + acceptor_->refusals_text(), error.culprit()};
  }
}

void MeshConnector::store_connection(AcceptedConnection accepted) {
  const Rank peer = accepted.request.from;
  switch (accepted.request.purpose) {
    case Purpose::local:
      (void)exchange_memory(peer, std::move(accepted.socket),
                            false);  // if it fails, the peer connects again over TCP
      break;
    case Purpose::control: link_of(peer).control = std::move(accepted.socket); break;
    default: link_of(peer).data = std::move(accepted.socket);
  }
}

/// The connector sends its memory; the acceptor sends its own and whether it can use what it
/// received; the connector replies whether it can. Both must be able to.
/// @return whether memory is shared now, equal at both ends.
bool MeshConnector::exchange_memory(Rank peer, Descriptor socket, bool first) try {
  const auto send_result = [&](bool usable, bool offers) {
    send_descriptor(socket.get(), usable ? kUsable : kUnusable, offers ? plan_.memory : -1,
                    deadline_);
  };
  if (first) send_result(true, true);
  FdMessage theirs = receive_descriptor(socket.get(), deadline_);
  const bool usable = theirs.note == kUsable && (theirs.descriptor || plan_.only_local);
  send_result(usable, usable && !first);
  if (!first && receive_descriptor(socket.get(), deadline_).note != kUsable) return false;
  if (!usable) return false;
  MeshLink& link = link_of(peer);
  link.local = true;
  link.control = std::move(socket);
  link.memory = std::move(theirs.descriptor);
  return true;
} catch (const DescriptorShortage&) {
  throw;
} catch (const Error& error) {
  throw Error{error.code(), "sharing memory with " + name_of(peer) + " failed: " + error.what(),
              peer};
}

/// A peer that has left is noticed by serve().
void MeshConnector::send_complete() {
  for (const MeshLink& link : links_)
    if (link.control)
      static_cast<void>(::send(link.control.get(), &kComplete, sizeof kComplete, MSG_NOSIGNAL));
}

const MeshLink* MeshConnector::incomplete_peer() const {
  const auto found = std::ranges::find_if(links_, [&](const MeshLink& link) {
    return link.control && !complete_[static_cast<std::size_t>(link.peer)];
  });
  return found == links_.end() ? nullptr : &*found;
}

/// A peer sends one byte when it is connected to all of its peers. Until all have sent it, every
/// rank watches its links, so that the end of one rank reaches ranks without a link to it.
void MeshConnector::read_links() {
  for (std::size_t rank = 0; rank < links_.size(); ++rank) {
    if (polled_[rank + 1].revents == 0) continue;
    std::byte byte{};
    const ssize_t got = ::recv(polled_[rank + 1].fd, &byte, sizeof byte, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got <= 0 || byte != kComplete || complete_[rank])
      throw Departure{ErrorCode::peer_dead,
                      name_of(static_cast<Rank>(rank)) + " disconnected while the world started",
                      static_cast<Rank>(rank)};
    complete_[rank] = true;
  }
}

std::vector<Rank> MeshConnector::missing() const {
  std::vector<Rank> absent;
  for (const MeshLink& link : links_) {
    if (link.peer <= plan_.self.rank || (plan_.only_local && !can_share_memory(link.peer)))
      continue;
    const bool complete = link.control && (link.local || link.data || !plan_.carries_data);
    if (!complete) absent.push_back(link.peer);
  }
  return absent;
}

}  // namespace tutti::runtime
