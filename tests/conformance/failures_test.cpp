// A fault is an error that names the rank at fault, on every rank that waits, and never wrong
// bytes.
#include <algorithm>
#include <numeric>

#include <tutti/spi/fingerprint.hpp>

#include "group.hpp"

namespace tutti::conformance {
namespace {

constexpr std::byte kUntouched{0xee};

class Failures : public ::testing::TestWithParam<Setting> {
 protected:
  [[nodiscard]] Rank last() const { return size_ - 1; }
  [[nodiscard]] std::vector<Rank> all() const {
    std::vector<Rank> ranks(static_cast<std::size_t>(size_));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
  void expect_mismatch(Rank rank, Rank culprit) const {
    EXPECT_EQ(group_.error(rank)->code(), ErrorCode::mismatch) << group_.error(rank)->what();
    EXPECT_EQ(group_.error(rank)->culprit(), culprit);
  }

  int size_ = GetParam().size;
  std::unique_ptr<Links> links_ = GetParam().backend.connect({.size = size_});
  Group group_{*links_, size_};
};

TEST_P(Failures, AWrongLengthIsAMismatch) {
  const std::vector<std::pair<std::size_t, std::size_t>> lengths{
      {8, 16}, {16, 8}, {0, 1}, {1, 0}, {65536, 65537}, {1 << 20, 1 << 19}, {100, 1 << 20}};
  for (const auto& [sent, expected] : lengths)
    for (const bool receive_first : {true, false}) {
      const Bytes out = pattern(sent, 1);
      Bytes in(expected + 64, kUntouched);
      Bytes front(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(expected));
      const auto links = GetParam().backend.connect({.size = size_});
      Group group{*links, size_};  // the sender reads until it is gone
      if (receive_first) group.receive(last(), 0, front);
      group.send(0, last(), out);
      group.linger();
      if (!receive_first) group.receive(last(), 0, front);
      if (!group.await_failure(last())) continue;
      EXPECT_EQ(group.error(last())->code(), ErrorCode::mismatch) << group.error(last())->what();
      EXPECT_TRUE(front == Bytes(expected, kUntouched)) << sent << " for " << expected;
    }
}

TEST_P(Failures, ALongerMessageIsAMismatchToAReceiveThatAcceptsShorterOnes) {
  const Bytes out = pattern(100000, 1);
  Bytes in(99999, kUntouched);
  group_.receive(last(), 0, in, {.accepts_shorter = group_.capabilities().shorter});
  group_.send(0, last(), out);
  if (!group_.await_failure(last())) return;
  expect_mismatch(last(), 0);
  EXPECT_TRUE(in == Bytes(in.size(), kUntouched));
}

TEST_P(Failures, AWrongLengthNamesTheRankAndBothNumbers) {
  const Bytes out(24);
  Bytes in(40);
  group_.receive(last(), 0, in);
  group_.send(0, last(), out);
  if (!group_.await_failure(last())) return;
  expect_mismatch(last(), 0);
  const std::string text = group_.error(last())->what();
  for (const char* const part : {"rank 0", "24", "40"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_P(Failures, AWrongFingerprintIsAMismatch) {
  const Bytes out = pattern(64, 1);
  Bytes in(64, kUntouched);
  group_.receive(last(), 0, in, {.fingerprint = 0x123});
  group_.send(0, last(), out, {.fingerprint = 0x456});
  if (!group_.await_failure(last())) return;
  expect_mismatch(last(), 0);
  const std::string text = group_.error(last())->what();
  for (const char* const part : {"rank 0", "123", "456"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_TRUE(in == Bytes(64, kUntouched));
}

TEST_P(Failures, AMismatchStaysAndFailsLaterCalls) {
  const Bytes out(8);
  Bytes in(9);
  group_.receive(last(), 0, in);
  group_.send(0, last(), out);
  if (!group_.await_failure(last())) return;
  expect_mismatch(last(), 0);
  std::array<Completion, 1> completions{};
  EXPECT_THROW(static_cast<void>(group_[last()].poll(completions)), Error);
  const Transfer transfer{.kind = Transfer::Kind::send, .peer = 0};
  EXPECT_THROW(group_[last()].post(std::span{&transfer, 1}), Error);
}

void expect_stray(Transport& transport, std::uint64_t pending, bool thoroughly, const char* said) {
  try {
    transport.find_unmatched(pending, thoroughly);
    ADD_FAILURE() << "it was not found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::mismatch) << error.what();
    EXPECT_EQ(error.culprit(), 0);
    EXPECT_NE(std::string{error.what()}.find(said), std::string::npos) << error.what();
  }
}

// Polls do not look for a message of a rank from which none is expected.
TEST_P(Failures, AMessageOfACallThatHasEndedIsAMismatch) {
  if (!GetParam().backend.finds_unmatched)
    GTEST_SKIP() << "an MPI shows no message that nobody receives; see mpi_disagreement";
  for (const bool is_met : {false, true}) {
    const auto links = GetParam().backend.connect({.size = size_});
    Group group{*links, size_};
    const Bytes out = pattern(100, 1);
    Bytes in(out.size());
    group.send(0, last(), out, {.tag = 1, .fingerprint = make_fingerprint(1, 5)});
    if (is_met) {  // a later message, with which it comes
      group.send(0, last(), out, {.tag = 2, .fingerprint = make_fingerprint(1, 6)});
      group.receive(last(), 0, in, {.tag = 2, .fingerprint = make_fingerprint(1, 6)});
      ASSERT_TRUE(group.run_until([&] { return in == out; }));
      EXPECT_TRUE(group[last()].has_unexpected());
    }
    group.linger();
    group[last()].find_unmatched(make_fingerprint(0, 5), true);  // its receive may still be posted
    expect_stray(group[last()], make_fingerprint(0, 7), !is_met, "rank 0 ran another call #6");
  }
}

// As for two ranks that call with themselves as root: each only sends, and none receives.
TEST_P(Failures, AMessageThatDiffersFromTheCallThatWaitsIsAMismatch) {
  if (!GetParam().backend.finds_unmatched)
    GTEST_SKIP() << "an MPI shows no message that nobody receives; see mpi_disagreement";
  const Bytes out = pattern(300000, 1);
  group_.send(0, last(), out, {.tag = 1, .fingerprint = make_fingerprint(1, 5)});
  group_.linger();
  group_[last()].find_unmatched(make_fingerprint(1, 5), true);  // it is of this call
  expect_stray(group_[last()], make_fingerprint(2, 5), true, "rank 0 runs another call");
}

TEST_P(Failures, NoMessageThatWillBeReceivedIsAStray) {
  if (!GetParam().backend.finds_unmatched)
    GTEST_SKIP() << "an MPI shows no message that nobody receives; see mpi_disagreement";
  const Bytes out = pattern(100, 1);
  Bytes in(out.size());
  for (std::uint32_t call = 3; call < 6; ++call)
    group_.send(0, last(), out, {.tag = call, .fingerprint = make_fingerprint(1, call)});
  for (std::uint32_t call = 3; call < 6; ++call) {
    group_.linger();
    group_[last()].find_unmatched(make_fingerprint(1, call), true);
    group_.receive(last(), 0, in, {.tag = call, .fingerprint = make_fingerprint(1, call)});
    ASSERT_TRUE(group_.run_until([&] { return in == out; }));
    in.assign(in.size(), kUntouched);
  }
  ASSERT_TRUE(group_.finish());
  group_[last()].find_unmatched(make_fingerprint(0, 6), true);
  EXPECT_FALSE(group_[last()].has_unexpected());
}

TEST_P(Failures, AnAbortWakesEveryRank) {
  std::vector<Bytes> in(static_cast<std::size_t>(size_), Bytes(1000, kUntouched));
  for (Rank rank = 0; rank < size_; ++rank)
    group_.receive(rank, (rank + 1) % size_, in[static_cast<std::size_t>(rank)]);
  group_.linger();
  if (group_.is_here(last())) {
    group_[last()].abort({ErrorCode::timeout, "it took too long", 0});
    group_[last()].abort({ErrorCode::bug, "said twice"});
  }
  const auto is_awake = [&](Rank rank) { return !group_.is_here(rank) || group_.error(rank); };
  ASSERT_TRUE(group_.run_until([&] { return std::ranges::all_of(all(), is_awake); }));
  for (const Rank rank : all()) {
    if (!group_.is_here(rank)) continue;
    EXPECT_NE(std::string{group_.error(rank)->what()}.find("it took too long"), std::string::npos)
        << group_.error(rank)->what();
  }
}

TEST_P(Failures, AfterAnAbortNoPieceIsWritten) {
  if (!GetParam().backend.one_process)
    GTEST_SKIP() << "one rank cannot abort another process here; see mpi_transport";
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{60000}, std::size_t{8} << 20}) {
    const Bytes out = pattern(bytes, 1);
    Bytes in(bytes);
    const auto links = GetParam().backend.connect({.size = size_});
    Group group{*links, size_};  // rank 0, which does not abort, reads until it is gone
    group.receive(last(), 0, in);
    group.send(0, last(), out);
    if (size_ > 1) group.step();  // a part of a long one is here now
    group[last()].abort({ErrorCode::timeout, "it took too long"});
    std::fill(in.begin(), in.end(), kUntouched);
    // Another communicator's polls meet what is still on its way.
    Group other{*links, {.communicator = 2, .members = all()}};
    const Bytes word(8);
    Bytes heard(word.size());
    other.receive(last(), 0, heard);
    other.linger();
    other.send(0, last(), word);
    ASSERT_TRUE(other.finish());
    EXPECT_TRUE(in == Bytes(bytes, kUntouched)) << bytes << " bytes";
  }
}

TEST_P(Failures, AfterAnAbortNoPieceIsRead) {
  if (!GetParam().backend.one_process)
    GTEST_SKIP() << "one rank cannot abort another process here; see mpi_transport";
  const auto links = GetParam().backend.connect({.size = size_});
  Group group{*links, size_};
  {
    const Bytes out = pattern(8U << 20, 1);
    group.send(0, last(), out);
    Bytes in(out.size());
    if (size_ > 1) {
      group.receive(last(), 0, in);
      group.step();
    }
    for (Rank rank = 0; rank < size_; ++rank)
      group[rank].abort({ErrorCode::timeout, "it took too long"});
  }  // a sanitizer notices who touches them now
  group.linger();
}

TEST_P(Failures, AnAbortedCommunicatorLeavesTheOthersAlone) {
  if (!GetParam().backend.one_process)
    GTEST_SKIP() << "one rank cannot abort another process here; see mpi_transport";
  Group other{*links_, {.communicator = 2, .members = all()}};
  const Bytes lost = pattern(6U << 20, 1);
  Bytes never(lost.size());
  const Bytes out = pattern(3U << 20, 2);
  Bytes in(out.size());
  group_.send(0, last(), lost);
  group_.receive(last(), 0, never);
  other.send(0, last(), out);
  other.receive(last(), 0, in);
  group_.step();
  for (Rank rank = 0; rank < size_; ++rank)
    group_[rank].abort({ErrorCode::timeout, "it took too long"});
  std::fill(never.begin(), never.end(), kUntouched);
  ASSERT_TRUE(other.finish());
  EXPECT_TRUE(in == out);
  EXPECT_TRUE(never == Bytes(lost.size(), kUntouched));
}

TEST_P(Failures, AnAlarmEndsPostsAndPolls) {
  if (!GetParam().backend.heeds_alarm) GTEST_SKIP() << "this backend has an alarm of its own";
  const auto failure_signal = std::make_shared<FailureSignal>();
  const auto transport =
      links_->transport(0, {.communicator = 3, .members = all(), .failure_signal = failure_signal});
  std::array<Completion, 1> completions{};
  EXPECT_EQ(transport->poll(completions), 0U);
  failure_signal->set_cause({ErrorCode::peer_dead, "a rank is gone", last()});
  const Bytes word(8);
  const Piece piece{const_cast<std::byte*>(word.data()), word.size()};
  const Transfer transfer{
      .kind = Transfer::Kind::send, .peer = last(), .pieces = std::span{&piece, 1}};
  const auto fails = [&](const auto& call) {
    try {
      call();
      ADD_FAILURE() << "it went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::peer_dead) << error.what();
      EXPECT_EQ(error.culprit(), last());
    }
  };
  fails([&] { transport->post({&transfer, 1}); });
  fails([&] { static_cast<void>(transport->poll(completions)); });
}

class Deaths : public Failures {
 protected:
  void SetUp() override {
    if (!GetParam().backend.one_process)
      GTEST_SKIP() << "one rank cannot abort another process here; see mpi_transport";
  }
  [[nodiscard]] std::unique_ptr<Links> connect_mortal() const {
    return GetParam().backend.connect({.size = size_, .mortal = last()});
  }
};

TEST_P(Deaths, AreToldToWhoeverWaits) {
  Bytes in(8);
  const auto links = connect_mortal();
  Group group{*links, size_};
  for (Rank rank = 0; rank < last(); ++rank) group.receive(rank, last(), in);
  group.linger();
  group.destroy(last());
  links->kill(last());
  ASSERT_TRUE(group.run_until([&] {
    for (Rank rank = 0; rank < last(); ++rank)
      if (!group.error(rank)) return false;
    return true;
  }));
  for (Rank rank = 0; rank < last(); ++rank) {
    EXPECT_EQ(group.error(rank)->code(), ErrorCode::peer_dead) << group.error(rank)->what();
    EXPECT_EQ(group.error(rank)->culprit(), last());
  }
}

TEST_P(Deaths, EndMessagesThatNobodyTakes) {
  const Bytes out(16U << 20);
  const auto links = connect_mortal();
  Group group{*links, size_};
  group.send(0, last(), out);
  group.linger();
  group.destroy(last());
  links->kill(last());
  ASSERT_TRUE(group.run_until([&] { return group.error(0).has_value(); }));
  EXPECT_EQ(group.error(0)->code(), ErrorCode::peer_dead) << group.error(0)->what();
  EXPECT_EQ(group.error(0)->culprit(), last());
}

TEST_P(Deaths, AreNoticedAlsoByWhoTurnsToTheRankLater) {
  const auto links = connect_mortal();
  Group group{*links, size_};
  group.linger();
  group.destroy(last());
  links->kill(last());
  group.linger();
  Bytes in(8);
  group.receive(0, last(), in);
  ASSERT_TRUE(group.run_until([&] { return group.error(0).has_value(); }));
  EXPECT_EQ(group.error(0)->code(), ErrorCode::peer_dead) << group.error(0)->what();
}

INSTANTIATE_TEST_SUITE_P(Conformance, Failures, ::testing::ValuesIn(settings()), name_of);
INSTANTIATE_TEST_SUITE_P(Conformance, Deaths, ::testing::ValuesIn(settings(2)), name_of);

}  // namespace
}  // namespace tutti::conformance
