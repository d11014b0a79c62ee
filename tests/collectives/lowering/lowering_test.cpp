// Lowering of schedules that no row of the catalog has.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>

#include "collectives/lowering/lowering.hpp"

namespace tutti::test {
namespace {

using detail::Base;
using detail::Operation;
using detail::OperationKind;
using detail::Program;

detail::Layout two_ranks(Collective collective, std::size_t count) {
  return {Contract{collective, 2, 0}, 0, count};
}

const detail::LoweringOptions kLowering{.element_bytes = 4, .divides = true, .combines = true};

Program lowered(const Schedule& schedule, const detail::Layout& layout, bool in_place = false) {
  return lower(schedule, layout, kLowering, {}, in_place);
}

Program all_reduce(const Schedule& schedule, bool in_place = false) {
  return lowered(schedule, two_ranks(Collective::all_reduce, 12), in_place);
}

std::size_t count_of(const Program& program, OperationKind kind) {
  return static_cast<std::size_t>(std::ranges::count(
      program.operations.begin(), program.operations.end() - 1, kind, &Operation::kind));
}

/// Whether the only receive combines what comes.
bool combines(const Program& program) {
  const auto receive = std::ranges::find(program.operations, OperationKind::recv, &Operation::kind);
  return receive->combinations > 0;
}

TEST(Lowering, FinishesASlotInARoundOfItsOwn) {
  const Program program = all_reduce(
      Schedule{1}.round({Send{1, {}}, RecvReduce{1, {}, Side::right}}).round({Finish{{}}}));
  ASSERT_EQ(program.combinations.size(), 2U);
  EXPECT_EQ(program.combinations[0].operands, 2U);
  EXPECT_FALSE(program.combinations[0].finish);
  EXPECT_EQ(program.combinations[1].operands, 1U);
  EXPECT_TRUE(program.combinations[1].finish);
}

TEST(Lowering, StagesWhatWouldOverwriteWhatTheRoundSends) {
  const Schedule schedule = Schedule{1}.round({Send{1, {}}, Recv{1, {}}});
  EXPECT_EQ(count_of(all_reduce(schedule, true), OperationKind::combine), 1U);
  EXPECT_EQ(count_of(all_reduce(schedule, false), OperationKind::combine), 0U)
      << "the input is sent";
}

TEST(Lowering, RefusesARunThatGoesOnInTheNextPlane) {
  const Schedule schedule = Schedule{2, 2}.round({Recv{1, {Space::scratch, 1, 2}}});
  EXPECT_THROW(static_cast<void>(all_reduce(schedule)), Error);
}

TEST(Lowering, JoinsWhatLiesTogether) {
  const Program program =
      all_reduce(Schedule{4}.round({Send{1, {Space::out, 0, 2}}, Send{1, {Space::out, 2, 2}}}));
  ASSERT_EQ(program.messages.size(), 1U);
  ASSERT_EQ(program.pieces.size(), 1U);
  EXPECT_EQ(program.pieces[0].bytes, 48U);
}

TEST(Lowering, CombinesBlocksThatLieTogetherAsOne) {
  // Both blocks of a reduce_scatter: one would do, were the own block not the caller's memory.
  const Schedule schedule = Schedule{2}.round({RecvReduce{1, {Space::out, 0, 2}}});
  EXPECT_EQ(lowered(schedule, two_ranks(Collective::reduce_scatter, 3)).combinations.size(), 2U);
  const Program together = all_reduce(schedule);
  ASSERT_EQ(together.combinations.size(), 1U);
  EXPECT_EQ(together.combinations[0].count, 12U);
}

TEST(Lowering, CombinesWhileItComesWhatNobodyElseTouches) {
  const Slots first{Space::out, 0, 1}, second{Space::out, 1, 1};
  const Schedule apart = Schedule{2}.round({Send{1, first}, RecvReduce{1, second}});
  EXPECT_TRUE(combines(all_reduce(apart)));
  EXPECT_TRUE(combines(all_reduce(apart, true)));
  const Schedule once = Schedule{1}.round({Send{1, {}}, RecvReduce{1, {}}});
  EXPECT_TRUE(combines(all_reduce(once))) << "the input is sent";
  EXPECT_FALSE(combines(all_reduce(once, true)));
  const Schedule twice =
      Schedule{1}.round({Reduce{{Space::in}, {}}}).round({Send{1, {}}, RecvReduce{1, {}}});
  EXPECT_FALSE(combines(all_reduce(twice))) << "the output is sent";
}

TEST(Lowering, StagesFoldsOfSeveralOperandsAndWhatIsOnlyReceived) {
  EXPECT_FALSE(combines(all_reduce(Schedule{1, 1}
                                       .round({Copy{{Space::in}, {Space::scratch}}})
                                       .round({RecvReduce{1, {}}, Reduce{{Space::scratch}, {}}}))));
  const Slots first{Space::out, 0, 1}, second{Space::out, 1, 1};
  EXPECT_FALSE(combines(all_reduce(Schedule{2}.round({RecvReduce{1, first}, Recv{1, second}}))));
  const Schedule copied = Schedule{1, 1}.round({RecvReduce{1, {}}, Copy{{}, {Space::scratch}}});
  EXPECT_TRUE(combines(all_reduce(copied)));
  EXPECT_FALSE(combines(all_reduce(copied, true))) << "the copy reads what stood there before";
}

TEST(Lowering, PutsTheCombinationsOfAMessageInTheOrderOfItsBytes) {
  const auto slot = [](std::uint32_t unit) { return Slots{Space::out, unit, 1}; };
  const Schedule schedule = Schedule{4}.round({RecvReduce{1, slot(0)}, RecvReduce{2, slot(3)},
                                               RecvReduce{1, slot(2)}, RecvReduce{2, slot(1)}});
  const Program program = lowered(schedule, {Contract{Collective::all_reduce, 3, 0}, 0, 40});
  ASSERT_EQ(program.messages.size(), 2U);
  for (const std::uint32_t index : program.messages) {
    const Operation& receive = program.operations[index];
    const auto parts = program.combinations_of(receive);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].destination.offset, receive.peer == 1 ? 0U : 120U);
    EXPECT_EQ(parts[1].destination.offset, receive.peer == 1 ? 80U : 40U);
  }
}

TEST(Lowering, CombinesBeforeOtherMessagesHaveCome) {
  // The fold waits for its two operands, and not for what arrives beside them.
  const Schedule schedule = Schedule{2}.round(
      {RecvReduce{1, {Space::out, 0}}, RecvReduce{2, {Space::out, 0}}, Recv{3, {Space::out, 1}}});
  const Program program = lowered(schedule, {Contract{Collective::all_reduce, 4, 0}, 0, 40});
  ASSERT_EQ(count_of(program, OperationKind::combine), 1U);
  EXPECT_EQ(program.needs.back(), 2U);
}

/// @param bytes of a message that stays where it is, at least.
Program visible(const Schedule& schedule, int size, std::size_t bytes = 1, bool lockstep = true) {
  const detail::LoweringOptions options{.element_bytes = 4,
                                        .combines = true,
                                        .visible = true,
                                        .least_visible = bytes,
                                        .lockstep = lockstep};
  return lower(schedule, {Contract{Collective::all_reduce, size, 0}, 0, 12}, options, {}, false);
}

// Rank 1 would write a result of two slots where one of them belongs.
TEST(Lowering, StoresNoPartOfWhatWasCombinedAtItsSender) {
  const auto waits = [&](std::uint32_t sent, std::size_t bytes = 1) {
    const Schedule schedule =
        Schedule{4}
            .round({Send{1, {Space::out, 2}}, RecvReduce{1, {Space::out, 0, 2}}})
            .round({Send{1, {Space::out, 0, sent}}, Recv{1, {Space::out, 2}}});
    return count_of(visible(schedule, 2, bytes), OperationKind::wait);
  };
  EXPECT_EQ(waits(1), 0U);
  EXPECT_EQ(waits(2), 1U);
  EXPECT_EQ(waits(2, 25), 0U) << "it has 24 bytes";
}

// Each of three peers sends a slot and gets the result: one combination of four operands with four
// destinations, and no other message moves.
TEST(Lowering, CombinesAllThatComesWhereItLies) {
  const auto slot = [](std::uint32_t unit) { return Slots{Space::out, unit}; };
  const Schedule schedule =
      Schedule{4}
          .round({Send{1, slot(1)}, Send{2, slot(2)}, Send{3, slot(3)}, RecvReduce{1, slot(0)},
                  RecvReduce{2, slot(0)}, RecvReduce{3, slot(0)}})
          .round({Send{1, slot(0)}, Send{2, slot(0)}, Send{3, slot(0)}, Recv{1, slot(1)},
                  Recv{2, slot(2)}, Recv{3, slot(3)}});
  const Program program = visible(schedule, 4);
  EXPECT_EQ(count_of(program, OperationKind::wait), 3U);
  EXPECT_EQ(count_of(program, OperationKind::signal), 3U);
  ASSERT_EQ(program.combinations.size(), 1U);
  EXPECT_EQ(program.combinations[0].operands, 4U);
  EXPECT_EQ(program.combinations[0].results, 3U);
  EXPECT_TRUE(std::ranges::all_of(program.forwards, [&](const detail::Forward& forward) {
    const auto index = &forward - program.forwards.data();
    const Operation& operation =
        program.operations[program.messages[static_cast<std::size_t>(index)]];
    if (operation.round == 1) return true;
    return (operation.kind == OperationKind::send ? forward.spared : forward.sent) !=
           detail::kNoMessage;
  }));
  EXPECT_EQ(count_of(visible(schedule, 4, 1, false), OperationKind::wait), 0U)
      << "a sender might wait for one that waits for it";
}

// A tree's node sends to its children one round after the other.
TEST(Lowering, WaitsForWhatItTouchesAndForRoundsWhereTheyAreFlowControl) {
  const auto messages_at_once = [](bool paced) {
    const Schedule schedule = Schedule{2, 0, paced}
                                  .round({Send{1, {Space::out, 0}}})
                                  .round({Send{2, {Space::out, 0}}, Recv{3, {Space::out, 1}}})
                                  .round({Send{1, {Space::out, 1}}});
    const Program program = lowered(schedule, {Contract{Collective::all_reduce, 4, 0}, 0, 40});
    return program.batches[program.starts[0]].messages;
  };
  EXPECT_EQ(messages_at_once(true), 1U);
  EXPECT_EQ(messages_at_once(false), 3U) << "the second round needs nothing of the first";
}

TEST(Lowering, HoldsTheSlotsThatAreUsedOnly) {
  const Program program = all_reduce(Schedule{4, 1}
                                         .round({Recv{1, {Space::scratch, 0, 2}}})
                                         .round({Send{1, {Space::scratch, 0, 2}}}));
  EXPECT_EQ(program.held_bytes, 24U);
}

TEST(Lowering, MakesTwoProgramsOfAnyNumberOfEqualSegments) {
  const Schedule schedule = Schedule{1}.round({Send{1, {}}, RecvReduce{1, {}, Side::right}});
  detail::Programs programs{schedule,
                            two_ranks(Collective::all_reduce, 1000),
                            {.element_bytes = 4, .segments = 7, .combines = true}};
  const auto first = programs.find(0, false);
  const auto last = programs.find(6, false);
  EXPECT_NE(first.program, last.program) << "143 and 142 elements";
  EXPECT_EQ(programs.find(5, false).program, first.program);
  EXPECT_EQ(last.shift, 4 * 858U);
}

/// @return the most memory that this process has had, in MiB.
long most_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

// An all_to_all has 16 million slots there, of which a rank names 8 thousand.
TEST(Lowering, TakesMemoryForTheOwnStepsOnly) {
  constexpr int kRanks = 4096;
  const long before = most_memory();
  for (const char* const algorithm : {"direct", "pairwise", "bruck"}) {
    const Choice choice = parse_choice(Collective::all_to_all, algorithm);
    const detail::Layout layout{Contract{Collective::all_to_all, kRanks, 0}, 1, 4};
    const Program program = lowered(choice.build(kRanks, 0, 1), layout);
    EXPECT_LT(program.footprint(), std::size_t{2} << 20) << algorithm;
  }
  EXPECT_LT(most_memory() - before, 32);
}

}  // namespace
}  // namespace tutti::test
