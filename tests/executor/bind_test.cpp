// What binding makes of schedules that no row of the catalog has.
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/error.hpp>

#include "collectives/program.hpp"

namespace tutti::test {
namespace {

detail::Layout two_ranks(Collective collective, std::size_t count) {
  return {Contract{collective, 2, 0}, 0, count};
}

TEST(Bind, FinishesASlotInARoundOfItsOwn) {
  const Schedule schedule =
      Schedule{1}.round({Send{1, {}}, RecvReduce{1, {}, Side::right}}).round({Finish{{}}});
  const detail::Program program = detail::bind(schedule, two_ranks(Collective::all_reduce, 5));
  ASSERT_EQ(program.folds.size(), 2U);
  EXPECT_EQ(program.folds[0].operands, 2U);
  EXPECT_FALSE(program.folds[0].finish);
  EXPECT_EQ(program.folds[1].operands, 1U);
  EXPECT_TRUE(program.folds[1].finish);
}

TEST(Bind, StagesWhatWouldOverwriteASlotThatTheRoundSends) {
  const Schedule schedule = Schedule{1}.round({Send{1, {}}, Recv{1, {}}});
  const detail::Program program = detail::bind(schedule, two_ranks(Collective::all_reduce, 5));
  ASSERT_EQ(program.folds.size(), 1U);
  EXPECT_EQ(program.runs[program.folds[0].first_operand].base, detail::Base::staging);
}

TEST(Bind, RefusesARunThatGoesOnInTheNextPlane) {
  const Schedule schedule = Schedule{2, 2}.round({Recv{1, {Space::scratch, 1, 2}}});
  EXPECT_THROW(static_cast<void>(detail::bind(schedule, two_ranks(Collective::all_reduce, 5))),
               Error);
}

TEST(Bind, JoinsWhatLiesTogether) {
  const Schedule schedule =
      Schedule{4}.round({Send{1, {Space::out, 0, 2}}, Send{1, {Space::out, 2, 2}}});
  const detail::Layout layout = two_ranks(Collective::all_reduce, 10);
  detail::Resolved resolved;
  detail::resolve(detail::bind(schedule, layout), layout, {}, 4, resolved);
  ASSERT_EQ(resolved.messages.size(), 1U);
  ASSERT_EQ(resolved.pieces.size(), 1U);
  EXPECT_EQ(resolved.pieces[0].bytes, 40U);
}

TEST(Bind, FoldsABlockAfterTheOtherAsOne) {
  // Both blocks of a reduce_scatter: one fold would do, were the own block not the caller's memory.
  const Schedule schedule = Schedule{2}.round({RecvReduce{1, {Space::out, 0, 2}}});
  const detail::Layout apart = two_ranks(Collective::reduce_scatter, 3);
  detail::Resolved resolved;
  detail::resolve(detail::bind(schedule, apart), apart, {}, 4, resolved);
  EXPECT_EQ(resolved.folds.size(), 2U);
  const detail::Layout together = two_ranks(Collective::all_reduce, 6);
  const Schedule parts = Schedule{2}.round({RecvReduce{1, {Space::out, 0, 2}}});
  detail::resolve(detail::bind(parts, together), together, {}, 4, resolved);
  ASSERT_EQ(resolved.folds.size(), 1U);
  EXPECT_EQ(resolved.folds[0].count, 6U);
}

/// How the only message that a schedule receives may be fused.
detail::Fusing fusing_of(const Schedule& schedule) {
  const detail::Program program = detail::bind(schedule, two_ranks(Collective::all_reduce, 5));
  detail::Fusing fusing = detail::Fusing::never;
  for (const detail::BoundMessage& message : program.messages)
    if (!message.is_send) fusing = message.fusing;
  return fusing;
}

TEST(Fuse, FoldsWhatNobodyElseTouches) {
  const Slots first{Space::out, 0, 1}, second{Space::out, 1, 1};
  EXPECT_EQ(fusing_of(Schedule{2}.round({Send{1, first}, RecvReduce{1, second}})),
            detail::Fusing::always);
}

TEST(Fuse, FoldsOverWhatIsSentWhereThatIsOtherMemory) {
  const Schedule once = Schedule{1}.round({Send{1, {}}, RecvReduce{1, {}}});
  EXPECT_EQ(fusing_of(once), detail::Fusing::apart) << "the input is sent";
  EXPECT_EQ(
      fusing_of(
          Schedule{1}.round({Reduce{{Space::in}, {}}}).round({Send{1, {}}, RecvReduce{1, {}}})),
      detail::Fusing::never)
      << "the output is sent";
}

TEST(Fuse, LeavesFoldsOfSeveralOperandsAndWhatIsOnlyReceived) {
  EXPECT_EQ(fusing_of(Schedule{1, 1}
                          .round({Copy{{Space::in}, {Space::scratch}}})
                          .round({RecvReduce{1, {}}, Reduce{{Space::scratch}, {}}})),
            detail::Fusing::never);
  const Slots first{Space::out, 0, 1}, second{Space::out, 1, 1};
  EXPECT_EQ(fusing_of(Schedule{2}.round({RecvReduce{1, first}, Recv{1, second}})),
            detail::Fusing::never);
  EXPECT_EQ(fusing_of(Schedule{1, 1}.round({RecvReduce{1, {}}, Copy{{}, {Space::scratch}}})),
            detail::Fusing::apart)
      << "the copy reads what stood there before";
}

TEST(Fuse, PutsTheFoldsOfAMessageInTheOrderOfItsBytes) {
  const Contract contract{Collective::all_reduce, 3, 0};
  const auto slot = [](std::uint32_t unit) { return Slots{Space::out, unit, 1}; };
  const Schedule schedule = Schedule{4}.round({RecvReduce{1, slot(0)}, RecvReduce{2, slot(3)},
                                               RecvReduce{1, slot(2)}, RecvReduce{2, slot(1)}});
  const detail::Layout layout{contract, 0, 40};
  detail::Resolved resolved;
  detail::resolve(detail::bind(schedule, layout), layout, {}, 4, resolved);
  ASSERT_EQ(resolved.messages.size(), 2U);
  for (const detail::ResolvedMessage& message : resolved.messages) {
    EXPECT_EQ(message.fusing, detail::Fusing::always);
    ASSERT_EQ(message.folds, 2U);
    const bool is_first = message.peer == 1;
    EXPECT_EQ(resolved.folds[message.first_fold].destination.offset, is_first ? 0U : 120U);
    EXPECT_EQ(resolved.folds[message.first_fold + 1].destination.offset, is_first ? 80U : 40U);
  }
}

/// Rank 0 of three gives block 1 to rank 1, and gets it back in the round after this one.
/// @param beside what else the round does. @param before what was done before.
/// @return when rank 1 may write block 1 as soon as it has it, and whether block 0 goes back.
std::pair<detail::Fusing, bool> shortcut_of(std::vector<Step> beside,
                                            const std::vector<Step>& before,
                                            const Slots& back = {Space::out, 0}) {
  beside.push_back(Send{1, {Space::out, 1}});
  beside.push_back(RecvReduce{1, {Space::out, 0}, Side::right});
  Schedule schedule{3};
  const auto add_round = [&](const std::vector<Step>& steps) {
    for (const Step& step : steps) schedule.add(step);
    if (!steps.empty()) schedule.end_round();
  };
  add_round(before);
  add_round(beside);
  schedule.round({Send{1, back}, Recv{1, {Space::out, 1}}});
  const detail::Layout layout{Contract{Collective::all_reduce, 3, 0}, 0, 9};
  const detail::Program program = detail::bind(schedule, layout);
  std::pair<detail::Fusing, bool> found{detail::Fusing::never, false};
  for (const detail::BoundMessage& message : program.messages) {
    if (message.shortcut.reply != detail::kNoMessage) found.first = message.shortcut.replying;
    if (message.shortcut.relays != detail::kNoMessage) found.second = true;
  }
  return found;
}

TEST(Shortcut, LeadsOnlyWhereNobodyElseReadsOrWrites) {
  using detail::Fusing;
  const Slots block{Space::out, 1};
  EXPECT_EQ(shortcut_of({}, {}), (std::pair{Fusing::always, true}));
  EXPECT_EQ(shortcut_of({Send{2, block}}, {}).first, Fusing::apart) << "read in the input";
  EXPECT_EQ(shortcut_of({Send{2, block}}, {Recv{2, block}}).first, Fusing::never) << "read";
  EXPECT_EQ(shortcut_of({RecvReduce{2, block, Side::right}}, {}).first, Fusing::never) << "folded";
  EXPECT_EQ(shortcut_of({}, {Recv{2, block}}).first, Fusing::always) << "read by rank 1 alone";
  EXPECT_FALSE(shortcut_of({}, {}, {Space::out, 0, 2}).second) << "more than was folded";
  EXPECT_FALSE(shortcut_of({}, {}, {Space::out, 2}).second) << "something else";
}

TEST(Bind, CopiesBlocksThatLieTogetherAsOne) {
  const Schedule schedule = Schedule{2, 1}.round({Copy{{Space::in, 0, 2}, {Space::scratch, 0, 2}}});
  const detail::Layout layout = two_ranks(Collective::reduce_scatter, 3);
  detail::Resolved resolved;
  detail::resolve(detail::bind(schedule, layout), layout, {}, 4, resolved);
  ASSERT_EQ(resolved.folds.size(), 2U);  // the other one is the own block's, which nothing writes
  EXPECT_EQ(resolved.folds[0].count, 6U);
  EXPECT_EQ(resolved.operands.size(), 2U);
}

TEST(Bind, HoldsTheSlotsThatAreUsedOnly) {
  const Schedule schedule = Schedule{4, 1}
                                .round({Recv{1, {Space::scratch, 0, 2}}})
                                .round({Send{1, {Space::scratch, 0, 2}}});
  const detail::Program program = detail::bind(schedule, two_ranks(Collective::all_reduce, 8));
  EXPECT_EQ(program.held, (std::vector<std::uint32_t>{4, 5}));
}

}  // namespace
}  // namespace tutti::test
