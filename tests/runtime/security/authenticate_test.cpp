// The handshake as a pair of state machines: who agrees, who does not, and that lies do not help.
#include "runtime/security/authenticate.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/fuzz/handshake_input.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {
namespace {

using namespace tutti::runtime;
using Bytes = std::vector<std::byte>;
using Change = std::function<void(int message, Bytes& bytes)>;

Identity identity_of(Rank rank) {
  return {.job = 7, .size = 4, .rank = rank, .secret = secret_of(1), .versions = {}};
}

/// A conversation of two parties, and what becomes of it.
struct Conversation {
  HandshakeState connector = HandshakeState::active;
  HandshakeState acceptor = HandshakeState::active;
  Reason reason = Reason::none;
  std::string told{};
  std::vector<ConnectionRequest> admitted{};
};

/// Lets two parties talk. @param change may change a message on its way: 0 is the Hello.
Conversation converse(const Identity& from, const Identity& to, const Change& change = {},
                      Reason verdict = Reason::none) {
  Conversation result;
  const AcceptorHandshake::Admit admit = [&](const ConnectionRequest& who) {
    result.admitted.push_back(who);
    return verdict;
  };
  ConnectorHandshake connector{from, 0, Purpose::data};
  AcceptorHandshake acceptor{to, admit};
  Bytes message{connector.hello().begin(), connector.hello().end()};
  for (int number = 0; !message.empty(); ++number) {
    if (change) change(number, message);
    const bool to_acceptor = number % 2 == 0;
    if ((to_acceptor ? acceptor.expected_bytes() : connector.expected_bytes()) != message.size())
      break;
    const auto reply = to_acceptor ? acceptor.process(message) : connector.process(message);
    message.assign(reply.begin(), reply.end());
  }
  result.connector = connector.state();
  result.acceptor = acceptor.state();
  result.reason = acceptor.reason();
  if (result.connector == HandshakeState::refused)
    result.told = connector.refusal("the peer").what();
  return result;
}

TEST(Handshake, AgreesWhenAllIsRight) {
  for (const bool secured : {true, false}) {
    Identity from = identity_of(2);
    Identity to = identity_of(0);
    if (!secured) from.secret = to.secret = std::nullopt;
    const auto result = converse(from, to);
    EXPECT_EQ(result.connector, HandshakeState::accepted);
    EXPECT_EQ(result.acceptor, HandshakeState::accepted);
    EXPECT_EQ(result.admitted, (std::vector<ConnectionRequest>{{2, 0, Purpose::data}}));
  }
}

TEST(Handshake, AgreesOnOverlappingVersions) {
  Identity from = identity_of(2);
  from.versions = {1, 4};
  Identity to = identity_of(0);
  to.versions = {3, 9};
  EXPECT_EQ(converse(from, to).connector, HandshakeState::accepted);
}

/// A party that does not fit rank 0 of identity_of(0).
struct RefusedPeer {
  const char* name;
  std::function<void(Identity&)> change;
  Reason reason;
  const char* told;
};

class HandshakeWith : public ::testing::TestWithParam<RefusedPeer> {};

TEST_P(HandshakeWith, IsRefusedOnBothSides) {
  const bool about_secrets = std::string_view{GetParam().name}.ends_with("Secret");
  if (about_secrets && !has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  Identity from = identity_of(2);
  GetParam().change(from);
  const auto result = converse(from, identity_of(0));
  EXPECT_EQ(result.connector, HandshakeState::refused);
  EXPECT_EQ(result.acceptor, HandshakeState::refused);
  EXPECT_EQ(result.reason, GetParam().reason);
  EXPECT_EQ(result.told, GetParam().told);
  EXPECT_TRUE(result.admitted.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Misfits, HandshakeWith,
    ::testing::Values(
        RefusedPeer{"Secret", [](Identity& p) { p.secret = secret_of(2); }, Reason::wrong_secret,
                    "rank 2 and the peer do not share a secret: wrong secret"},
        RefusedPeer{"NoSecret", [](Identity& p) { p.secret.reset(); }, Reason::wrong_secret,
                    "rank 2 and the peer do not share a secret: wrong secret, only one of them has "
                    "one; set TUTTI_SECRET_FILE on all ranks"},
        RefusedPeer{"Job", [](Identity& p) { p.job = 8; }, Reason::wrong_job,
                    "rank 2 belongs to job 8, but the peer to job 7: wrong job"},
        RefusedPeer{"Size", [](Identity& p) { p.size = 9; }, Reason::wrong_size,
                    "rank 2 counts 9 ranks, but the peer counts 4: wrong world size"},
        RefusedPeer{"Rank", [](Identity& p) { p.rank = 4; }, Reason::wrong_rank,
                    "rank 4 wanted rank 0, but the peer is rank 0"},
        RefusedPeer{"Newer",
                    [](Identity& p) {
                      p.versions = {2, 3};
                    },
                    Reason::version_mismatch,
                    "this program uses versions 2 to 3 of tutti's protocol, but the peer uses "
                    "version 1"},
        RefusedPeer{"NoVersion",
                    [](Identity& p) {
                      p.versions = {2, 1};
                    },
                    Reason::version_mismatch,
                    "this program uses versions 2 to 1 of tutti's protocol, but the peer uses "
                    "version 1"}),
    [](const auto& instance) { return instance.param.name; });

TEST(Handshake, PassesTheVerdictOn) {
  const auto result = converse(identity_of(2), identity_of(0), {}, Reason::duplicate_rank);
  EXPECT_EQ(result.told,
            "the peer refused rank 2: duplicate rank, another process connected as rank 2");
  EXPECT_EQ(result.acceptor, HandshakeState::refused);
}

TEST(Handshake, TellsThatItTakesASecret) {
  Identity from = identity_of(2);
  Identity to = identity_of(0);
  from.secret = to.secret = std::nullopt;
  const AcceptorHandshake::Admit admit = [](const ConnectionRequest&) { return Reason::none; };
  ConnectorHandshake connector{from, 0, Purpose::store};
  AcceptorHandshake acceptor{to, admit, false};
  const auto answer = acceptor.process(connector.hello());
  EXPECT_EQ(acceptor.reason(), Reason::no_secret);
  EXPECT_EQ(acceptor.request(), (ConnectionRequest{2, 0, Purpose::store}));
  EXPECT_TRUE(connector.process(answer).empty());
  const Error refusal = connector.refusal("the peer");
  EXPECT_EQ(refusal.code(), ErrorCode::invalid_argument);
  EXPECT_NE(std::string{refusal.what()}.find("set TUTTI_SECRET_FILE"), std::string::npos);
}

TEST(Handshake, AgreesToNoMessageWithAWrongBit) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  constexpr std::array<std::size_t, 3> kBytes{72, 104, 40};  // the verdict proves nothing
  for (int number = 0; number < 3; ++number)
    for (std::size_t bit = 0; bit < 8 * kBytes[static_cast<std::size_t>(number)]; ++bit) {
      const auto result = converse(identity_of(2), identity_of(0), [&](int which, Bytes& bytes) {
        if (which == number) bytes.at(bit / 8) ^= static_cast<std::byte>(1u << (bit % 8));
      });
      EXPECT_NE(result.acceptor, HandshakeState::accepted)
          << "message " << number << ", bit " << bit;
      EXPECT_TRUE(result.admitted.empty());
    }
}

TEST(Handshake, IsNotFooledByItsOwnCode) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  Bytes code;
  const auto result = converse(identity_of(2), identity_of(0), [&](int number, Bytes& bytes) {
    if (number == 1) code.assign(bytes.end() - kDigestBytes, bytes.end());
    if (number == 2) std::ranges::copy(code, bytes.end() - kDigestBytes);
  });
  EXPECT_EQ(result.reason, Reason::wrong_secret);
}

TEST(Handshake, IsNotFooledByAnEarlierOne) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  std::vector<Bytes> heard;
  (void)converse(identity_of(2), identity_of(0),
                 [&](int, Bytes& bytes) { heard.push_back(bytes); });
  const auto result = converse(identity_of(2), identity_of(0), [&](int number, Bytes& bytes) {
    if (number % 2 == 0) bytes = heard.at(static_cast<std::size_t>(number));
  });
  EXPECT_EQ(result.reason, Reason::wrong_secret);
}

TEST(Handshake, HasANameForEveryReason) {
  for (int i = 0; i < kReasons; ++i) EXPECT_NE(name_of(static_cast<Reason>(i)), "unknown");
  EXPECT_EQ(name_of(static_cast<Reason>(kReasons)), "unknown");
  EXPECT_EQ(name_of(Reason::no_descriptor), "no descriptor left");
}

TEST(Handshake, KeepsItsPromisesOnTheFuzzersSeeds) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator{TUTTI_HANDSHAKE_SEEDS}) {
    std::ifstream file{entry.path(), std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{file}, {}};
    std::vector<std::uint8_t> bytes{text.begin(), text.end()};
    fuzz::run_handshake(bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] ^= 0x10;
      fuzz::run_handshake(bytes);
      bytes[i] ^= 0x10;
      fuzz::run_handshake(std::span{bytes}.first(i));
    }
    ++seeds;
  }
  EXPECT_GE(seeds, 4);
}

}  // namespace
}  // namespace tutti::test
