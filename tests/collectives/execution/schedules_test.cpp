// Schedules written by hand, each with a turn that no row of the catalog has: proved, then run.
#include <gtest/gtest.h>

#include "proof/verify.hpp"
#include "tests/support/schedule_run.hpp"

namespace tutti::harness {
namespace {

Slots out(std::uint32_t first = 0, std::uint32_t count = 1) {
  return {Space::out, first, count};
}
Slots in(std::uint32_t first = 0, std::uint32_t count = 1) {
  return {Space::in, first, count};
}
Slots scratch(std::uint32_t first = 0, std::uint32_t count = 1) {
  return {Space::scratch, first, count};
}

/// Proves the schedules, as ordered ones if the model's operator does not commute, and runs them.
void expect_right(const Contract& contract, const std::vector<Schedule>& schedules,
                  const Model& model) {
  const Verdict verdict = Verifier{}.verify(
      {.contract = contract,
       .schedules = schedules,
       .claims = {.ordered = is_reduction(contract.collective) && !model.op.commutative()}});
  ASSERT_TRUE(verdict.proved()) << verdict.findings.front().message;
  for (const bool in_place : {false, true})
    for (const std::size_t segments : {1u, 3u}) {
      Experiment experiment{{.collective = contract.collective,
                             .size = contract.size,
                             .counts = cut(23, contract.blocks()),
                             .root = contract.root,
                             .in_place = in_place,
                             .model = model}};
      EXPECT_EQ(run_schedules(schedules, experiment, {.segments = segments}), "");
    }
}

TEST(Schedules, FinishWhatTheRoundReceived) {
  // Rank 1 reduces on behalf of the root, which then finishes what comes back.
  const Schedule root = Schedule{1}.round({Send{1, in()}}).round({Recv{1, out()}}).finish(out());
  const Schedule other = Schedule{1}.round({RecvReduce{0, out()}}).round({Send{0, out()}});
  for (const OperatorKind kind : {OperatorKind::sum, OperatorKind::average})
    expect_right({Collective::reduce, 2}, {root, other}, model_of(Datatype::i32, kind));
}

TEST(Schedules, FinishWhatTheRoundReceivedOverASlotThatItSends) {
  const Schedule first = Schedule{1, 1}
                             .round({Recv{1, scratch()}})
                             .round({Reduce{out(), scratch()}})
                             .round({Copy{scratch(), out()}, Send{1, scratch()}})
                             .finish(out());
  const Schedule second = Schedule{1}.round({Send{0, out()}}).round({Recv{0, out()}}).finish(out());
  expect_right({Collective::all_reduce, 2}, {first, second},
               model_of(Datatype::f32, OperatorKind::average));
}

TEST(Schedules, FinishWhatTheRoundCopied) {
  const Schedule root = Schedule{1, 1}
                            .round({Recv{1, scratch()}})
                            .round({Reduce{in(), scratch()}})
                            .round({Copy{scratch(), out()}, Finish{out()}});
  const Schedule other = Schedule{1}.round({Send{0, in()}});
  expect_right({Collective::reduce, 2}, {root, other},
               model_of(Datatype::i32, OperatorKind::average));
}

TEST(Schedules, FoldLocalOperandsWhereTheyAreListed) {
  // Rank 0's value waits in scratch and stands left of what rank 1 sends in the round of the fold.
  const Schedule first = Schedule{1}.round({Send{2, in()}});
  const Schedule second = Schedule{1}.round({Send{2, in()}});
  const Schedule root =
      Schedule{1, 1}
          .round({Recv{0, scratch()}})
          .round({Reduce{scratch(), out(), Side::left}, RecvReduce{1, out(), Side::left}})
          .finish(out());
  expect_right({Collective::reduce, 3, 2}, {first, second, root}, affine_model());
}

TEST(Schedules, FoldPeersWhereTheyAreListed) {
  // Rank 2 is mentioned before rank 1, but stands right of it in the fold.
  const Schedule root = Schedule{2, 1}
                            .round({Recv{2, scratch(1)}, RecvReduce{1, out(0, 2), Side::right},
                                    RecvReduce{2, out(0), Side::right}})
                            .round({Reduce{scratch(1), out(1), Side::right}})
                            .round({Finish{out(0, 2)}});
  const Schedule second = Schedule{2}.round({Send{0, in(0, 2)}});
  const Schedule third = Schedule{2}.round({Send{0, in(1)}, Send{0, in(0)}});
  expect_right({Collective::reduce, 3}, {root, second, third}, affine_model());
}

}  // namespace
}  // namespace tutti::harness
