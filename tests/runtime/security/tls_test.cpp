// Encrypted connections: bytes arrive at the other end only, and a peer without the secret, or a
// change of bytes on the way, is found.
#include "runtime/security/tls.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/ranks.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;
using Bytes = std::vector<std::byte>;
using Ciphers = std::vector<std::shared_ptr<tcp::Cipher>>;

/// Two ends of a stream.
struct Wire {
  Wire() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    left.reset(ends[0]);
    right.reset(ends[1]);
  }
  Descriptor left{};
  Descriptor right{};
};

TlsEnd end_of(const Descriptor& socket, bool connected, std::string identity = "a link") {
  return {.socket = socket.get(),
          .connected = connected,
          .identity = std::move(identity),
          .peer = connected ? 0 : 1,
          .name = connected ? "rank 0" : "rank 1"};
}

/// @return the outcome of a handshake at each end: the left one accepts.
std::vector<Outcome> shake_hands(const TlsEnd& left, const TlsEnd& right, int right_seed,
                                 Ciphers& ciphers) {
  ciphers.resize(2);
  return run_ranks(2, [&](Rank rank) {
    const TlsEnd& end = rank == 0 ? left : right;
    const int seed = rank == 0 ? 1 : right_seed;
    ciphers[static_cast<std::size_t>(rank)] = encrypt({end}, *secret_of(seed), in(kAmple)).front();
  });
}

class Tls : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_tls()) GTEST_SKIP() << "built without OpenSSL";
  }
  void connect() { connect(wire_.left, wire_.right); }
  void connect(const Descriptor& left, const Descriptor& right) {
    expect_no_error(shake_hands(end_of(left, false), end_of(right, true), 1, ciphers_));
  }

  Wire wire_{};
  Ciphers ciphers_{};
};

Bytes random_bytes(std::size_t count) {
  std::mt19937 random{7};
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

/// Moves bytes over both ciphers in pieces of any size until all have come. One thread does both
/// ends, so nothing may block.
Bytes move(tcp::Cipher& from, tcp::Cipher& to, const Bytes& sent) {
  std::mt19937 random{3};
  Bytes come(sent.size());
  std::size_t out = 0;
  std::size_t in = 0;
  while (in < sent.size() || from.has_unsent()) {
    const std::size_t first = std::min<std::size_t>(sent.size() - out, random() % 100);
    const std::size_t second = std::min<std::size_t>(sent.size() - out - first, random() % 70'000);
    auto* const data = const_cast<std::byte*>(sent.data()) + out;
    const std::array<iovec, 2> pieces{iovec{data, first}, iovec{data + first, second}};
    const tcp::Moved taken = from.write(pieces);
    EXPECT_EQ(taken.error, 0);
    out += taken.bytes;
    const std::size_t most = std::min<std::size_t>(come.size() - in, 1 + random() % 50'000);
    if (most == 0) continue;
    const iovec room{come.data() + in, most};
    const tcp::Moved got = to.read({&room, 1});
    EXPECT_EQ(got.error, 0);
    EXPECT_FALSE(got.closed);
    if (got.error != 0 || taken.error != 0) break;
    in += got.bytes;
  }
  return come;
}

TEST_F(Tls, CarriesBytesBothWays) {
  connect();
  const Bytes sent = random_bytes(5'000'000);
  EXPECT_EQ(move(*ciphers_[0], *ciphers_[1], sent), sent);
  EXPECT_EQ(move(*ciphers_[1], *ciphers_[0], sent), sent);
}

TEST_F(Tls, ShowsNothingOnTheWire) {
  connect();
  const std::string said(1000, 'x');
  const iovec all{const_cast<char*>(said.data()), said.size()};
  EXPECT_EQ(ciphers_[0]->write({&all, 1}).bytes, said.size());
  std::array<char, 4000> seen{};
  const ssize_t got = ::recv(wire_.right.get(), seen.data(), seen.size(), 0);
  ASSERT_GT(got, 1000);
  EXPECT_EQ(std::string_view(seen.data(), static_cast<std::size_t>(got)).find("xxxx"),
            std::string_view::npos);
}

TEST_F(Tls, FindsBytesThatWereChanged) {
  connect();
  std::array<char, 100> text{};
  const iovec all{text.data(), text.size()};
  EXPECT_EQ(ciphers_[0]->write({&all, 1}).bytes, text.size());
  std::array<char, 200> record{};
  const ssize_t got = ::recv(wire_.right.get(), record.data(), record.size(), 0);
  ASSERT_GT(got, 100);
  record[50] = static_cast<char>(record[50] ^ 1);
  ASSERT_EQ(::send(wire_.left.get(), record.data(), static_cast<std::size_t>(got), 0), got);
  EXPECT_EQ(ciphers_[1]->read({&all, 1}).error, EBADMSG);
}

TEST_F(Tls, SeesTheEnd) {
  connect();
  wire_.left.reset();
  std::array<char, 10> text{};
  const iovec all{text.data(), text.size()};
  EXPECT_TRUE(ciphers_[1]->read({&all, 1}).closed);
  EXPECT_EQ(ciphers_[1]->write({&all, 1}).error, EPIPE);
}

TEST_F(Tls, RefusesAnotherSecretAtBothEnds) {
  const auto outcomes =
      shake_hands(end_of(wire_.left, false), end_of(wire_.right, true), 2, ciphers_);
  for (const Rank rank : {0, 1}) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch) << outcome.text();
    EXPECT_EQ(outcome.error->culprit(), 1 - rank);
    EXPECT_EQ(outcome.text(), "rank " + std::to_string(1 - rank) +
                                  " failed the TLS handshake: wrong secret, or not tutti's TLS");
  }
}

TEST_F(Tls, RefusesAConnectionThatWasMeantForAnother) {
  const auto outcomes = shake_hands(end_of(wire_.left, false, "link 1"),
                                    end_of(wire_.right, true, "link 2"), 1, ciphers_);
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch) << outcome.text();
  }
}

TEST_F(Tls, RefusesWhatIsNoTls) {
  const std::string noise(100, '\n');
  ASSERT_EQ(::send(wire_.left.get(), noise.data(), noise.size(), 0), 100);
  try {
    (void)encrypt({end_of(wire_.right, true)}, *secret_of(1), in(kAmple));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
  }
}

TEST_F(Tls, GivesUpOnThoseWhoAreSilentOrGone) {
  const auto start = Clock::now();
  try {
    (void)encrypt({end_of(wire_.right, true)}, *secret_of(1), in(100ms));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout) << error.what();
    EXPECT_EQ(error.culprit(), 0);
  }
  EXPECT_LT(Clock::now() - start, kLongBefore);
  wire_.left.reset();
  try {
    (void)encrypt({end_of(wire_.right, true)}, *secret_of(1), in(kAmple));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::peer_dead) << error.what();
  }
}

}  // namespace
}  // namespace tutti::test
