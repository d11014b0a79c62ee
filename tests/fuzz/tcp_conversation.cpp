#include "tcp_conversation.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "backends/tcp/frame.hpp"
#include "tests/conformance/loopback.hpp"

namespace tutti::fuzz {
namespace {

constexpr std::size_t kBytes = 3000;
constexpr std::size_t kGuard = 64;
constexpr std::byte kUntouched{0xee};

/// Looks at every byte it is given.
class Reader final : public Combiner {
 public:
  void combine(std::span<const std::byte> bytes) override {
    if (bytes.empty() || bytes.size() > kBytes - taken_) std::abort();
    taken_ += bytes.size();
    for (const std::byte byte : bytes) sum_ += std::to_integer<unsigned>(byte);
  }

 private:
  std::size_t taken_ = 0;
  unsigned sum_ = 0;
};

/// A receive with a guard on both sides.
struct Guarded {
  std::vector<std::byte> memory = std::vector<std::byte>(kBytes + 2 * kGuard, kUntouched);
  std::array<Piece, 2> pieces{Piece{memory.data() + kGuard, 1000},
                              Piece{memory.data() + kGuard + 1000, kBytes - 1000}};
  Reader reader{};

  void check() const {
    const auto guard = static_cast<std::ptrdiff_t>(kGuard);
    const auto untouched = [](std::byte byte) { return byte == kUntouched; };
    if (!std::all_of(memory.begin(), memory.begin() + guard, untouched) ||
        !std::all_of(memory.end() - guard, memory.end(), untouched))
      std::abort();
  }
};

/// Small, so that their limits are reached.
tcp::Options options() {
  return {.eager_bytes = 2000,
          .credit_bytes = 16384,
          .fragment_bytes = 2500,
          .warm_bytes = 512,
          .linger = std::chrono::milliseconds{0}};
}

void post(Transport& transport, std::array<Guarded, 4>& places) {
  for (std::uint32_t tag = 0; tag < places.size(); ++tag) {
    Guarded& place = places[tag];
    const Transfer transfer{.kind = Transfer::Kind::recv,
                            .peer = 1,
                            .tag = tag / 2,
                            .pieces = place.pieces,
                            .combiner = tag % 2 == 0 ? nullptr : &place.reader};
    transport.post(std::span{&transfer, 1});
  }
}

/// Everything has come already. That the peer is gone is told only after a while, in which others
/// could say more of it: it would take most of the time.
void poll_to_the_end(Transport& transport) {
  constexpr int kIdlePolls = 100;
  std::array<Completion, 4> completions{};
  std::size_t done = 0;
  for (int idle = 0; done < 4 && idle < kIdlePolls; ++idle)
    if (const std::size_t count = transport.poll(completions); count > 0) {
      done += count;
      idle = 0;
    }
}

}  // namespace

void converse(std::span<const std::byte> bytes) {
  const auto [own, peer] = conformance::connected_pair();
  // Bytes beyond the kernel's buffers are dropped.
  const ssize_t sent = send(peer, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  static_cast<void>(sent);
  shutdown(peer, SHUT_WR);
  std::array<Guarded, 4> first{};
  std::array<Guarded, 4> second{};
  {
    const auto fabric =
        std::make_shared<tcp::Fabric>(0, std::vector<tcp::Peer>{{1, own}}, options());
    const auto one = fabric->transport(1, {0, 1}, std::make_shared<FailureSignal>());
    try {
      post(*one, first);
      poll_to_the_end(*one);
    } catch (const Error&) {
      // The error must be that the peer is invalid, or gone.
    }
    const auto other = fabric->transport(2, {1, 0}, std::make_shared<FailureSignal>());
    try {
      Guarded& place = second[0];
      const Transfer transfer{.kind = Transfer::Kind::recv, .peer = 0, .pieces = place.pieces};
      other->post(std::span{&transfer, 1});
      poll_to_the_end(*other);
    } catch (const Error&) {
      // As above.
    }
    one->abort({ErrorCode::aborted, "the test is over"});
  }
  // Closed hard, so that the host does not run out of ports to remember.
  const linger hard{.l_onoff = 1, .l_linger = 0};
  setsockopt(peer, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
  close(peer);
  for (const Guarded& place : first) place.check();
  for (const Guarded& place : second) place.check();
}

std::vector<std::byte> resealed(std::span<const std::byte> bytes) {
  std::vector<std::byte> result(bytes.begin(), bytes.end());
  for (std::size_t at = 0; result.size() - at >= sizeof(tcp::Header);) {
    tcp::Header header{};
    std::memcpy(&header, result.data() + at, sizeof header);
    header.magic = tcp::kMagic;
    header.version = tcp::kVersion;
    header.type = static_cast<tcp::FrameType>(1 + static_cast<unsigned>(header.type) % 5);
    header.flags = static_cast<std::uint16_t>(header.flags & tcp::kPayloadSummed);
    if (header.source % 8 != 0) header.source = 1;
    if (header.communicator > 255) header.communicator &= 3;
    tcp::seal(header);
    std::memcpy(result.data() + at, &header, sizeof header);
    at += sizeof header;
    at += std::min<std::uint64_t>(header.payload(), result.size() - at);
  }
  return result;
}

}  // namespace tutti::fuzz
