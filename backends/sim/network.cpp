#include "network.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/spi/copy.hpp>

namespace tutti::v0::sim {
namespace {

/// The heap's order: the earliest event in front.
bool later(const Event& a, const Event& b) {
  return std::tie(a.time, a.tie, a.sequence) > std::tie(b.time, b.tie, b.sequence);
}

void check(bool condition, const std::string& message) {
  if (!condition) throw Error{ErrorCode::invalid_argument, message};
}

void check(const ClusterOptions& options) {
  const int size = options.size;
  check(size >= 1, "a simulated cluster has at least one rank, not " + std::to_string(size));
  check(options.alpha.count() >= 0 && options.beta_ps >= 0 && options.jitter.count() >= 0,
        "costs of a simulated cluster must not be negative");
  check(options.tags >= 1, "a simulated cluster needs at least one tag");
  check(options.slowdown.empty() || options.slowdown.size() == static_cast<std::size_t>(size),
        "slowdown of a simulated cluster must be empty or have one factor per rank");
  for (const int factor : options.slowdown) check(factor >= 1, "a slowdown factor is at least 1");
  for (const Fault& fault : options.faults)
    check(fault.rank >= 0 && fault.rank < size, "a fault names rank " + std::to_string(fault.rank) +
                                                    " of a cluster of " + std::to_string(size));
}

std::size_t total(std::span<const Piece> pieces) {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces) {
    expects(piece.data != nullptr && piece.bytes > 0, "a piece of a transfer is empty");
    bytes += piece.bytes;
  }
  return bytes;
}

void gather(std::span<const Piece> from, std::vector<std::byte>& into) {
  for (const Piece& piece : from) into.insert(into.end(), piece.data, piece.data + piece.bytes);
}

void scatter(std::span<const std::byte> from, std::span<const Piece> into) {
  for (const Piece& piece : into) {
    const std::size_t bytes = std::min(piece.bytes, from.size());
    copy_bytes(piece.data, from.data(), bytes);
    from = from.subspan(bytes);
  }
}

}  // namespace

Network::Network(const ClusterOptions& options)
    : options_{(check(options), options)}, random_{options.seed},
      endpoints_(static_cast<std::size_t>(options.size)), faults_{options.faults} {
  for (Endpoint& rank : endpoints_) rank.matcher = decltype(rank.matcher){endpoints_.size()};
  for (const Fault& fault : faults_)
    schedule({.time = fault.at, .kind = Event::EventType::fault, .rank = fault.rank});
}

// Destroys messages one by one, since the queues would destroy many messages recursively.
Network::~Network() {
  for (Endpoint& rank : endpoints_)
    for (Rank from = 0; from < options_.size; ++from) rank.matcher.drain(from, [](const auto&) {});
}

void Network::mark_taken(Rank rank) {
  check(rank >= 0 && rank < options_.size, "there is no rank " + std::to_string(rank) +
                                               " in a cluster of " + std::to_string(options_.size));
  check(!std::exchange(endpoint(rank).taken, true),
        "the transport of rank " + std::to_string(rank) + " has been handed out already");
}

void Network::post(Rank self, std::span<const Transfer> transfers) {
  for (const Transfer& transfer : transfers) {
    if (endpoint(self).failure) throw Error{*endpoint(self).failure};
    if (endpoint(self).dead) return;
    post_one(self, transfer);
    check_faults(self);
  }
}

void Network::post_one(Rank self, const Transfer& transfer) {
  expects(transfer.peer >= 0 && transfer.peer < options_.size, "a transfer names no rank");
  expects(transfer.tag < options_.tags, "a transfer's tag is beyond the transport's");
  expects(transfer.combiner == nullptr || (options_.combines && transfer.reduced),
          "a transfer has a combiner of no use");
  const Half half{.tag = transfer.tag,
                  .fingerprint = transfer.fingerprint,
                  .cookie = transfer.cookie,
                  .pieces = transfer.pieces,
                  .bytes = total(transfer.pieces),
                  .combiner = transfer.combiner,
                  .accepts_shorter = transfer.accepts_shorter,
                  .waits = transfer.kind == Transfer::Kind::wait,
                  .result = transfer.result};
  ++endpoint(self).transfers;
  ++transfers_;
  ++activity_;
  if (transfer.kind != Transfer::Kind::send) return post_receive(self, transfer.peer, half);
  auto message = std::make_shared<SentMessage>();
  message->source = self;
  message->destination = transfer.peer;
  message->send = half;
  post_send(std::move(message));
}

void Network::post_send(std::shared_ptr<SentMessage> message) {
  message->eager = options_.delivery == Delivery::eager ||
                   (options_.delivery == Delivery::random && random_.below(2) == 0);
  if (message->eager) {
    gather(message->send.pieces, message->payload);
    const Duration left = leave(*message);
    message->arrival = left + latency(message->source);
    schedule({.time = left, .kind = Event::EventType::send_done, .message = message});
  }
  auto& matcher = endpoint(message->destination).matcher;
  if (const auto receive = matcher.match_message(message->source, message->send.tag)) {
    message->receive = receive->half;
    match(message);
  } else {
    matcher.add_message(message->source, message);
  }
}

void Network::post_receive(Rank self, Rank from, const Half& half) {
  auto& matcher = endpoint(self).matcher;
  if (options_.scribble && half.combiner == nullptr && !half.accepts_shorter)
    for (const Piece& piece : half.pieces) std::memset(piece.data, 0xa5, piece.bytes);
  if (const auto message = matcher.match_receive(from, half.tag)) {
    message->receive = half;
    match(message);
  } else {
    matcher.add_receive(from, std::make_shared<Receive>(Receive{.half = half}));
  }
}

void Network::match(const std::shared_ptr<SentMessage>& message) {
  const Duration time = message->eager ? std::max(message->arrival, now_)
                                       : leave(*message) + latency(message->source);
  schedule({.time = time, .kind = Event::EventType::deliver, .message = message});
}

Duration Network::leave(const SentMessage& message) {
  Endpoint& source = endpoint(message.source);
  const auto index = static_cast<std::size_t>(message.source);
  const int factor = options_.slowdown.empty() ? 1 : options_.slowdown[index];
  const auto bytes = static_cast<std::int64_t>(message.send.bytes);
  const Duration start = std::max({now_, source.port_free, source.stalled_until});
  source.port_free = start + Duration{bytes * options_.beta_ps / 1000 * factor};
  return source.port_free;
}

Duration Network::latency(Rank source) {
  const auto index = static_cast<std::size_t>(source);
  const int factor = options_.slowdown.empty() ? 1 : options_.slowdown[index];
  const auto bound = static_cast<std::uint64_t>(options_.jitter.count()) + 1;
  return options_.alpha * factor + Duration{static_cast<std::int64_t>(random_.below(bound))};
}

void Network::deliver(const std::shared_ptr<SentMessage>& delivered) {
  SentMessage& message = *delivered;
  Endpoint& source = endpoint(message.source);
  Endpoint& destination = endpoint(message.destination);
  if (!destination.alive() || (!message.eager && !source.alive())) return;
  const detail::Envelope sent = message.send.envelope();
  const detail::Envelope expected = message.receive.envelope();
  if (!agree(sent, expected))
    return fail(message.destination, detail::mismatch(message.source, sent, expected));
  if (leave_there(delivered)) return;
  if (!message.eager) gather(message.send.pieces, message.payload);
  if (message.receive.combiner == nullptr) scatter(message.payload, message.receive.pieces);
  else if (!feed(message)) return;
  destination.ready.push_back({message.receive.cookie});
  if (!message.eager) source.ready.push_back({message.send.cookie});
}

/// Leaves the message of a wait at its sender, in three of four cases. @return whether it did.
bool Network::leave_there(const std::shared_ptr<SentMessage>& message) {
  if (!options_.visible || message->eager || !message->receive.waits ||
      message->send.pieces.size() != 1 || parts_.below(4) == 0)
    return false;
  Endpoint& destination = endpoint(message->destination);
  // The receiver reads a copy, which outlives the sender, and shows reads that come after the
  // signal.
  gather(message->send.pieces, message->payload);
  destination.accesses.push_back(message);
  destination.ready.push_back({.cookie = message->receive.cookie,
                               .access = static_cast<AccessId>(destination.accesses.size() - 1),
                               .data = message->payload.data()});
  return true;
}

std::byte* Network::open_result(Rank self, AccessId access, std::uint32_t ordinal,
                                std::size_t bytes) {
  const SentMessage& message = *endpoint(self).accesses.at(access);
  if (!endpoint(message.source).alive()) return nullptr;
  const ResultPlace& result = message.send.result;
  return result.ordinal == ordinal && result.bytes == bytes ? result.data : nullptr;
}

void Network::signal(Rank self, AccessId access, bool is_stored) {
  const std::shared_ptr<SentMessage> message = std::move(endpoint(self).accesses.at(access));
  expects(message != nullptr, "an access ends once");
  if (endpoint(message->source).alive() && !is_stored)
    expects(std::ranges::equal(message->payload,
                               std::span{message->send.pieces.front().data, message->send.bytes}),
            "a sender leaves its bytes alone until the signal");
  message->is_stored = is_stored;
  schedule({.time = now_ + latency(self), .kind = Event::EventType::signalled, .message = message});
}

/// Gives a combiner parts of any length, which may cut elements. The seed decides whether all parts
/// are in the combiner's staging memory, if it has any. Otherwise each is in memory of its own,
/// which begins at any address and ends with the part, so that reads beyond it show. @return
/// whether it combined all; if not, its rank has failed.
bool Network::feed(const SentMessage& message) {
  constexpr std::size_t kMostSkipped = 16;
  std::span<const std::byte> left{message.payload};
  std::byte* room = parts_.below(2) == 0 ? message.receive.combiner->staging() : nullptr;
  if (room != nullptr) copy_bytes(room, left.data(), left.size());
  const Result<void> outcome = detail::attempt([&] {
    while (!left.empty()) {
      const std::size_t bytes = 1 + parts_.below(left.size());
      const std::size_t skipped = parts_.below(kMostSkipped);
      std::vector<std::byte> part(skipped + bytes);
      copy_bytes(part.data() + skipped, left.data(), bytes);
      message.receive.combiner->combine({room != nullptr ? room : part.data() + skipped, bytes});
      if (room != nullptr) room += bytes;
      left = left.subspan(bytes);
    }
  });
  if (!outcome) fail(message.destination, outcome.error());
  return static_cast<bool>(outcome);
}

std::vector<Completion> Network::poll(Rank self) {
  Endpoint& own = endpoint(self);
  if (own.dead || now_ < own.stalled_until) return {};
  if (own.failure) throw Error{*own.failure};
  activity_ += own.ready.size();
  return std::exchange(own.ready, {});
}

void Network::find_unmatched(Rank self, std::uint64_t pending) {
  if (!endpoint(self).alive()) return;
  for (Rank from = 0; from < options_.size; ++from)
    if (const auto error = endpoint(self).matcher.find_unmatched(from, pending)) {
      fail(self, *error);
      throw Error{*error};
    }
}

std::optional<Unexpected> Network::probe(Rank self, Rank from, std::uint32_t tag) {
  Endpoint& own = endpoint(self);
  if (own.dead || now_ < own.stalled_until) return std::nullopt;
  if (own.failure) throw Error{*own.failure};
  return own.matcher.probe(from, tag, [](Rank) {});
}

void Network::abort(Rank self, const Error& cause) {
  Endpoint& own = endpoint(self);
  if (own.dead || std::exchange(own.aborted, true)) return;
  fail(self, cause);
  // A notice is passed on unchanged, so that it does not grow from rank to rank.
  const std::string text = cause.code() == ErrorCode::aborted
                               ? std::string{cause.what()}
                               : "rank " + std::to_string(self) + " failed: " + cause.what();
  for (Rank rank = 0; rank < options_.size; ++rank)
    if (rank != self) warn(rank, {ErrorCode::aborted, text, cause.culprit(), cause.cause()});
}

void Network::warn(Rank rank, const Error& error) {
  Endpoint& other = endpoint(rank);
  if (other.notice || other.failure) return;
  other.notice = error;
  schedule({.time = now_ + latency(rank), .kind = Event::EventType::notice, .rank = rank});
}

void Network::fail(Rank rank, const Error& error) {
  if (!endpoint(rank).failure) endpoint(rank).failure = error;
}

void Network::check_faults(Rank rank) {
  std::erase_if(faults_, [&](const Fault& fault) {
    const bool due =
        fault.rank == rank && now_ >= fault.at && endpoint(rank).transfers >= fault.after_transfers;
    if (due && fault.kind == Fault::Kind::death) kill(rank);
    if (due && fault.kind == Fault::Kind::delay) {
      endpoint(rank).stalled_until = now_ + fault.length;
      schedule({.time = now_ + fault.length, .kind = Event::EventType::wake, .rank = rank});
    }
    return due;
  });
}

void Network::kill(Rank rank) {
  if (std::exchange(endpoint(rank).dead, true) || !options_.detect_death) return;
  const Error error{ErrorCode::peer_dead, "rank " + std::to_string(rank) + " is dead", rank};
  for (Rank other = 0; other < options_.size; ++other)
    if (other != rank) warn(other, error);
}

void Network::schedule(Event event) {
  event.tie = random_.next();
  event.sequence = ++sequence_;
  events_.push_back(std::move(event));
  std::push_heap(events_.begin(), events_.end(), later);
}

bool Network::advance() {
  if (events_.empty()) return false;
  std::pop_heap(events_.begin(), events_.end(), later);
  const Event event = std::move(events_.back());
  events_.pop_back();
  now_ = std::max(now_, event.time);
  happen(event);
  return true;
}

void Network::advance_by(Duration span) {
  const Duration until = now_ + span;
  while (!events_.empty() && events_.front().time <= until) advance();
  now_ = until;
}

void Network::happen(const Event& event) {
  switch (event.kind) {
    case Event::EventType::send_done:
    case Event::EventType::signalled: {
      Endpoint& source = endpoint(event.message->source);
      if (source.alive())
        source.ready.push_back(
            {.cookie = event.message->send.cookie, .is_stored = event.message->is_stored});
      break;
    }
    case Event::EventType::deliver: deliver(event.message); break;
    case Event::EventType::notice: fail(event.rank, *endpoint(event.rank).notice); break;
    case Event::EventType::wake: break;
    case Event::EventType::fault: check_faults(event.rank); break;
  }
}

}  // namespace tutti::v0::sim
