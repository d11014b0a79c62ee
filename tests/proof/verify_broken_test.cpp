#include <gtest/gtest.h>

#include <set>
#include <tutti/error.hpp>

#include "verify_broken_cases.hpp"

namespace tutti::v0 {
namespace {

using samples::Broken;

TEST(VerifyBroken, EachCaseIsCaughtForWhatItIs) {
  Verifier verifier{};
  for (const Broken& broken : samples::broken_cases()) {
    const Verdict verdict = verifier.verify({.contract = broken.sample.contract,
                                             .schedules = broken.sample.schedules,
                                             .claims = broken.claims,
                                             .name = broken.name});
    EXPECT_FALSE(verdict.proved()) << broken.name;
    for (const Finding& finding : verdict.findings) {
      EXPECT_EQ(name_of(finding.kind), name_of(broken.kind)) << finding.message;
      EXPECT_EQ(finding.message.find(broken.name), 0U) << finding.message;
    }
  }
}

// Claims are judged only where the schedules are correct, so without them these must pass.
TEST(VerifyBroken, WithoutTheClaimNothingIsWrong) {
  int claims = 0;
  for (const Broken& broken : samples::broken_cases()) {
    if (broken.kind < CheckKind::operand_order) continue;
    ++claims;
    const Verdict verdict = verify_schedules(broken.sample.contract, broken.sample.schedules);
    EXPECT_TRUE(verdict.proved()) << broken.name << ": " << verdict.findings.front().message;
  }
  EXPECT_GE(claims, 5);
}

TEST(VerifyBroken, EveryCheckHasACase) {
  std::set<CheckKind> covered{};
  for (const Broken& broken : samples::broken_cases()) covered.insert(broken.kind);
  for (int kind = 0; kind < kCheckKinds; ++kind) {
    const auto check = static_cast<CheckKind>(kind);
    EXPECT_NE(name_of(check), "unknown");
    // These two are about rows, not about schedules: see verify_row_test.cpp.
    if (check == CheckKind::too_little_claimed || check == CheckKind::build_failed) continue;
    EXPECT_TRUE(covered.count(check) == 1) << name_of(check);
  }
}

TEST(VerifyBroken, MessagesSayWhere) {
  samples::Sample sample = samples::ring_all_reduce(4);
  samples::Rounds rounds = samples::rounds_of(sample.schedules[1]);
  rounds[2][0] = Send{2, {Space::out, 3, 1}};
  sample.schedules[1] = samples::schedule_of(rounds, sample.schedules[1]);
  const Verdict verdict = Verifier{}.verify(
      {.contract = sample.contract, .schedules = sample.schedules, .claims = {}, .name = "ring"});
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].message,
            "ring all_reduce, n=4, rank 2, round 2, out[2]: expects unit 2 where rank 1, round 2, "
            "sends unit 3");
}

TEST(VerifyBroken, TheFirstSlotAndRoundAreNamedToo) {
  samples::Sample sample = samples::ring_all_reduce(4);
  samples::Rounds rounds = samples::rounds_of(sample.schedules[1]);
  rounds[0][0] = Send{2, {Space::out, 3, 1}};
  sample.schedules[1] = samples::schedule_of(rounds, sample.schedules[1]);
  const Verdict verdict = verify_schedules(sample.contract, sample.schedules);
  ASSERT_FALSE(verdict.proved());
  EXPECT_NE(verdict.findings[0].message.find("rank 2, round 0, out[0]: expects unit 0"),
            std::string::npos)
      << verdict.findings[0].message;
}

TEST(VerifyBroken, ADeadlockNamesTheCircle) {
  const Schedule first = Schedule{1}.round({Recv{1, {}}}).round({Send{1, {}}});
  const Schedule second = Schedule{1}.round({Recv{0, {}}}).round({Send{0, {}}});
  const std::vector<Schedule> both{first, second};
  const Verdict verdict = verify_schedules({Collective::all_reduce, 2}, both);
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].kind, CheckKind::deadlock);
  EXPECT_NE(verdict.findings[0].message.find("rank 0 in round 0 waits to receive from rank 1, "
                                             "rank 1 in round 0 waits to receive from rank 0"),
            std::string::npos)
      << verdict.findings[0].message;
}

// Unused slots cost the executor nothing, but the verifier would have to keep them.
TEST(VerifyBroken, TooLargeIsAnErrorAndNotAnAllocation) {
  const std::vector<Schedule> both(2, Schedule{1, 1U << 31});
  EXPECT_THROW(static_cast<void>(verify_schedules({Collective::all_reduce, 2}, both)), Error);
}

// One mistake has many consequences; a report lists a few.
TEST(VerifyBroken, FindingsAreFew) {
  samples::Sample sample = samples::ring_all_reduce(40);
  for (Schedule& schedule : sample.schedules) schedule.round({Send{0, {Space::out, 40, 1}}});
  const Verdict verdict = verify_schedules(sample.contract, sample.schedules);
  EXPECT_GE(verdict.findings.size(), 1U);
  EXPECT_LE(verdict.findings.size(), 8U);
}

}  // namespace
}  // namespace tutti::v0
