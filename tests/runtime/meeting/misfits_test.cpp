// The store, when a rank of the job itself does not fit: all who are there are told within a
// second.
#include <sys/fsuid.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <string>

#include <gtest/gtest.h>

#include "tests/runtime/meeting.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using runtime::has_cryptography;
using runtime::open_store;
using runtime::StoreOptions;

/// The difference of one rank, and the error of all.
struct StoreRefusal {
  const char* name;
  Rank odd;
  std::function<void(StoreOptions&)> change;
  const char* told;  // to those that fit; the odd one itself fails in the handshake
  Rank culprit;
};

const std::vector<StoreRefusal> kMisfits{
    {"Size", 2, [](StoreOptions& o) { o.size = 5; },
     "rank 2 counts 5 ranks, but rank 0 (host host0) counts 3: wrong world size", 2},
    {"RankAndSize", 2,
     [](StoreOptions& o) {
       o.rank = 6;
       o.size = 7;
     },
     "rank 6 counts 7 ranks, but rank 0 (host host0) counts 3: wrong world size", 6},
    {"SizeOfRank0", 0, [](StoreOptions& o) { o.size = 5; },
     "ranks 1 and 2 count 3 ranks, but rank 0 (host host0) counts 5: wrong world size", 0},
    {"Secret", 2, [](StoreOptions& o) { o.secret = secret_of(2); },
     "rank 2 and rank 0 (host host0) do not share a secret: wrong secret", 2},
    {"NoSecret", 1, [](StoreOptions& o) { o.secret.reset(); },
     "rank 1 and rank 0 (host host0) do not share a secret: wrong secret", 1},
    {"SecretOfRank0", 0, [](StoreOptions& o) { o.secret = secret_of(2); },
     "ranks 1 and 2 and rank 0 (host host0) do not share a secret: wrong secret", 0},
    {"NoSecretOfRank0", 0, [](StoreOptions& o) { o.secret.reset(); },
     "ranks 1 and 2 and rank 0 (host host0) do not share a secret: wrong secret", 0},
};

using Parameters = std::tuple<StoreRefusal, bool>;

class StoreWhereOneDoesNotFit : public ::testing::TestWithParam<Parameters> {};

/// The options of a rank, at a port of the loopback or at a Unix socket.
StoreOptions options_of(Meeting& meeting, Rank rank, const Parameters& parameters) {
  const auto& [misfit, local] = parameters;
  StoreOptions options = meeting.options(rank);
  if (local) options.local_name = "tutti-misfits-test-" + std::to_string(::getpid());
  if (rank == misfit.odd) misfit.change(options);
  return options;
}

TEST_P(StoreWhereOneDoesNotFit, TellsAllOfThem) {
  const StoreRefusal& misfit = std::get<0>(GetParam());
  if (std::string_view{misfit.name}.find("Secret") != std::string_view::npos && !has_cryptography())
    GTEST_SKIP() << "built without OpenSSL";
  Meeting meeting{3};
  const auto outcomes = run_ranks(
      3, [&](Rank rank) { talk(*open_store(options_of(meeting, rank, GetParam()), in(kAmple))); });
  for (Rank rank = 0; rank < 3; ++rank) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(outcome.error) << rank;
    EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch) << outcome.text();
    EXPECT_LT(outcome.elapsed, kLongBefore) << "the deadline was waited for";
    const bool was_refused = rank == misfit.odd || (misfit.odd == 0 && rank != 0);
    if (was_refused && rank != 0) continue;
    EXPECT_TRUE(outcome.text().starts_with(misfit.told)) << rank << ": " << outcome.text();
    EXPECT_EQ(outcome.error->culprit(), misfit.culprit);
  }
}

INSTANTIATE_TEST_SUITE_P(Misfits, StoreWhereOneDoesNotFit,
                         ::testing::Combine(::testing::ValuesIn(kMisfits), ::testing::Bool()),
                         [](const auto& instance) {
                           return std::string{std::get<0>(instance.param).name} +
                                  (std::get<1>(instance.param) ? "AtAUnixSocket" : "");
                         });

TEST(StoreWithoutASecret, TellsAllWhoCountsOtherwise) {
  Meeting meeting{3};
  const auto outcomes = run_ranks(3, [&](Rank rank) {
    StoreOptions options = meeting.options(rank);
    options.secret.reset();
    if (rank == 1) options.size = 2;
    talk(*open_store(options, in(kAmple)));
  });
  for (const Rank rank : {0, 2}) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
    ASSERT_TRUE(outcome.error) << rank;
    EXPECT_TRUE(
        outcome.text().starts_with("rank 1 counts 2 ranks, but rank 0 (host host0) counts 3"))
        << outcome.text();
    EXPECT_LT(outcome.elapsed, kLongBefore);
  }
}

// A process without the secret may be anyone's, and may not end a job of another user.
TEST(Store, WaitsOnWhereAnotherUserDoesNotKnowTheSecret) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user can be made by root only";
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  constexpr uid_t kNobody = 65534;
  Meeting meeting{2};
  const auto outcomes = run_ranks(2, [&](Rank rank) {
    StoreOptions options = meeting.options(rank);
    if (rank == 1) {
      options.secret = secret_of(2);
      ::setfsuid(kNobody);  // of this thread, so that its sockets belong to user nobody
    }
    talk(*open_store(options, in(kAmple)), 1500ms);
  });
  ASSERT_TRUE(outcomes[0].error);
  EXPECT_EQ(outcomes[0].error->code(), ErrorCode::timeout) << outcomes[0].text();
  EXPECT_GE(outcomes[0].elapsed, 1400ms);
  EXPECT_NE(outcomes[0].text().find("; refused connections: 1 wrong secret"), std::string::npos)
      << outcomes[0].text();
}

}  // namespace
}  // namespace tutti::test
