#include "group.hpp"
#include "tests/support/patience.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>
#include <thread>
#include <utility>

namespace tutti::conformance {
namespace {

constexpr std::chrono::milliseconds kLinger{5};

std::string running_test() {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return info == nullptr ? "no test" : std::string{info->test_suite_name()} + "." + info->name();
}

Membership completed(Membership membership) {
  if (!membership.failure_signal)
    membership.failure_signal =
        std::make_shared<FailureSignal>(FailureSignal::Report{}, std::make_shared<ForkGuard>());
  return membership;
}

std::vector<Rank> all_ranks(int size) {
  std::vector<Rank> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

Bytes pattern(std::size_t bytes, std::uint64_t seed) {
  Bytes result(bytes);
  std::mt19937_64 random{seed};
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(result.data() + i, &word, std::min(sizeof word, bytes - i));
  }
  return result;
}

Group::Group(Links& links, Membership membership) : links_{links} {
  membership = completed(std::move(membership));
  failure_signal_ = membership.failure_signal;
  for (const Rank world : membership.members) {
    Side& side = sides_.emplace_back();
    side.is_here = links.is_here(world);
    if (side.is_here) side.transport = links.transport(world, membership);
    else are_all_here_ = false;
  }
}

Group::Group(Links& links, int size) : Group{links, Membership{.members = all_ranks(size)}} {}

std::span<const Piece> Group::pieces(std::byte* data, std::size_t bytes, std::size_t piece) {
  std::vector<Piece>& all = pieces_.emplace_back();
  // Sizes differ, so that both ends cut at different places, and within elements.
  for (std::size_t at = 0, n = 0; at < bytes; ++n) {
    const std::size_t wanted = piece == 0 ? bytes : piece + n * 7 % 13;
    const std::size_t run = std::min(wanted, bytes - at);
    all.push_back({data + at, run});
    at += run;
  }
  return all;
}

std::uint64_t Group::send(Rank rank, Rank peer, const Bytes& bytes, const Envelope& envelope) {
  auto* const data = const_cast<std::byte*>(bytes.data());  // a send only reads
  return post(rank, {.kind = Transfer::Kind::send,
                     .peer = peer,
                     .tag = envelope.tag,
                     .fingerprint = envelope.fingerprint,
                     .pieces = pieces(data, bytes.size(), envelope.piece),
                     .reduced = envelope.reduced});
}

std::uint64_t Group::receive(Rank rank, Rank peer, Bytes& bytes, const Envelope& envelope) {
  return post(rank, {.kind = Transfer::Kind::recv,
                     .peer = peer,
                     .tag = envelope.tag,
                     .fingerprint = envelope.fingerprint,
                     .pieces = pieces(bytes.data(), bytes.size(), envelope.piece),
                     .combiner = envelope.combiner,
                     .reduced = envelope.reduced,
                     .accepts_shorter = envelope.accepts_shorter});
}

std::uint64_t Group::post(Rank rank, Transfer transfer) {
  transfer.cookie = ++cookies_;
  Side& own = side(rank);
  own.done.emplace(transfer.cookie, false);
  ++own.pending;
  if (!are_all_here_) follow(rank, transfer);
  if (!own.is_here) return transfer.cookie;
  // The last way, if there are several: the first is what others have.
  const std::size_t transports = own.transport->capabilities().transports.size();
  transfer.route = static_cast<std::uint8_t>(transports == 0 ? 0 : transports - 1);
  try {
    own.transport->post(std::span{&transfer, 1});
  } catch (const Error& error) {
    if (!own.error) own.error = error;
  }
  return transfer.cookie;
}

/// Lets messages that do not end here arrive as soon as both ends are posted: whether they do so in
/// truth shows in the other process.
void Group::follow(Rank rank, const Transfer& transfer) {
  const bool is_send = transfer.kind == Transfer::Kind::send;
  Route& route = routes_[{is_send ? rank : transfer.peer, is_send ? transfer.peer : rank,
                          static_cast<std::int64_t>(transfer.tag)}];
  (is_send ? route.sends : route.receives).push_back({rank, transfer.cookie, transfer.pieces});
  if (route.sends.empty() || route.receives.empty()) return;
  const End send = route.sends.front();
  const End receive = route.receives.front();
  route.sends.pop_front();
  route.receives.pop_front();
  if (!is_here(receive.rank)) {
    Bytes bytes{};
    for (const Piece& piece : send.pieces)
      bytes.insert(bytes.end(), piece.data, piece.data + piece.bytes);
    auto from = bytes.cbegin();
    for (const Piece& piece : receive.pieces) {
      const auto run =
          std::min<std::ptrdiff_t>(bytes.cend() - from, static_cast<std::ptrdiff_t>(piece.bytes));
      std::copy_n(from, run, piece.data);
      from += run;
    }
  }
  for (const End& end : {send, receive})
    if (!is_here(end.rank)) Group::end(side(end.rank), end.cookie);
}

void Group::end(Side& side, std::uint64_t cookie) {
  side.done.at(cookie) = true;
  --side.pending;
}

const Capabilities& Group::capabilities() const {
  const auto here = std::ranges::find_if(sides_, [](const Side& side) { return side.is_here; });
  return here->transport->capabilities();
}

bool Group::await_failure(Rank rank) {
  const auto has_failed = [&] {
    return std::ranges::any_of(sides_, [&](const Side& own) {
      return own.error && (!is_here(rank) || &own == &side(rank));
    });
  };
  if (!run_until(has_failed)) return false;
  if (!are_all_here_)  // as a user of a failed transport does
    for (Side& own : sides_)
      if (own.is_here && own.error) own.transport->abort(*own.error);
  return is_here(rank);
}

bool Group::poll(Side& own) {
  if (own.error || own.transport == nullptr) return false;
  std::array<Completion, 16> completions{};
  try {
    const std::size_t count = own.transport->poll(completions);
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = own.done.find(completions[i].cookie);
      EXPECT_TRUE(found != own.done.end()) << "a completion of nothing";
      if (found == own.done.end()) continue;
      EXPECT_FALSE(found->second) << "a second completion of transfer " << found->first;
      found->second = true;
      --own.pending;
    }
    return count > 0;
  } catch (const Error& error) {
    own.error = error;
    return true;
  }
}

bool Group::step() {
  bool moved = false;
  for (Side& own : sides_) moved = poll(own) || moved;
  if (!moved) links_.idle();
  return moved;
}

bool Group::step(Rank rank) {
  const bool moved = poll(side(rank));
  if (!moved) links_.idle();
  return moved;
}

bool Group::run_until(const std::function<bool()>& over) {
  const auto deadline = std::chrono::steady_clock::now() + test::kAmple;
  while (!over()) {
    if (!step()) std::this_thread::yield();
    if (std::chrono::steady_clock::now() < deadline) continue;
    ADD_FAILURE() << running_test() << " hangs";
    return false;
  }
  return true;
}

bool Group::settled() const {
  return std::all_of(sides_.begin(), sides_.end(), [](const Side& own) {
    return own.pending == 0 || own.error || own.transport == nullptr;
  });
}

bool Group::finish() {
  bool good = run_until([this] { return settled(); });
  for (const Side& own : sides_) {
    if (!own.error) continue;
    ADD_FAILURE() << own.error->what();
    good = false;
  }
  return good;
}

void Group::linger() {
  const auto until = std::chrono::steady_clock::now() + kLinger;
  while (std::chrono::steady_clock::now() < until) step();
}

bool Group::complete(Rank rank, std::uint64_t cookie) const {
  return sides_[static_cast<std::size_t>(rank)].done.at(cookie);
}

void Group::destroy(Rank rank) {
  side(rank).transport.reset();
}

std::vector<Setting> settings(int least) {
  std::vector<Setting> all{};
  for (const Backend& backend : backends())
    for (const int size : backend.sizes)
      if (size >= least) all.push_back({backend, size});
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Setting>& info) {
  std::string name = info.param.backend.name + info.param.backend.variant + "_on_" +
                     std::to_string(info.param.size);
  for (const char sign : {'+', '|'})  // GoogleTest takes no such signs
    std::ranges::replace(name, sign, '_');
  return name;
}

}  // namespace tutti::conformance
