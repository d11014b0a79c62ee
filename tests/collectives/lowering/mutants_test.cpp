// The checker finds what is wrong in programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "lowered.hpp"

namespace tutti::test {
namespace {

using detail::Combination;
using detail::Operation;
using detail::OperationKind;
using detail::Program;

/// A change of one program. @return whether there was anything to change.
using Mutation = std::function<bool(Program&)>;

struct Subject {
  Collective collective{};
  const char* algorithm = nullptr;
  int size = 4;
};

const Subject kSubjects[]{{Collective::all_reduce, "ring", 4},
                          {Collective::all_reduce, "recursive_doubling", 4},
                          {Collective::all_gather, "bruck", 5},
                          {Collective::reduce_scatter, "pairwise", 3},
                          {Collective::all_to_all, "bruck", 4},
                          {Collective::reduce, "knomial", 5},
                          {Collective::all_reduce, "recursive_doubling", 5},
                          {Collective::all_reduce, "direct", 3}};

/// Lowers a subject in place, where most has to be ordered, and mutates each rank in turn.
/// @return how many mutants there were, all of which were found.
int found_mutants(const Mutation& mutate, bool combines = true, bool visible = false) {
  int mutants = 0;
  for (const Subject& subject : kSubjects) {
    const Contract contract{subject.collective, subject.size, 0};
    const Choice choice = parse_choice(subject.collective, subject.algorithm);
    std::vector<Schedule> schedules;
    for (Rank rank = 0; rank < subject.size; ++rank)
      schedules.push_back(choice.build(subject.size, 0, rank));
    const LoweredCase what{.contract = contract,
                           .counts = std::vector<std::size_t>(contract.blocks(), 7),
                           .combines = combines,
                           .visible = visible,
                           .lockstep = true,
                           .in_place = ~std::uint64_t{0}};
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
      Lowered lowered = lower_all(schedules, what, 0);
      EXPECT_EQ(check(schedules, what, lowered, 0), "");
      if (!mutate(lowered.programs[rank])) continue;
      ++mutants;
      EXPECT_NE(check(schedules, what, lowered, 0), "")
          << subject.algorithm << ", a mutant of rank " << rank;
    }
  }
  return mutants;
}

TEST(ProgramMutants, WithOperandsInAnotherOrderAreFound) {
  EXPECT_GT(found_mutants([](Program& program) {
              for (const Combination& combination : program.combinations) {
                if (combination.operands < 2) continue;
                std::swap(program.operands[combination.first_operand],
                          program.operands[combination.first_operand + 1]);
                return true;
              }
              return false;
            }),
            5);
}

TEST(ProgramMutants, ThatWriteElsewhereAreFound) {
  EXPECT_GT(found_mutants([](Program& program) {
              if (program.combinations.empty()) return false;
              program.combinations.front().destination.offset += 4;
              return true;
            }),
            5);
  EXPECT_GT(
      found_mutants([](Program& program) {
        for (const Operation& operation : program.operations)
          if (operation.kind == OperationKind::recv && operation.combinations == 0 &&
              operation.pieces > 0) {
            program.pieces[operation.first_piece].place.offset += 4;
            return true;
          }
        return false;
      }),
      5);
}

TEST(ProgramMutants, ThatDoNotDivideAreFound) {
  EXPECT_GT(found_mutants([](Program& program) {
              for (Combination& combination : program.combinations)
                if (std::exchange(combination.finish, false)) return true;
              return false;
            }),
            5);
}

TEST(ProgramMutants, ThatTalkToSomebodyElseAreFound) {
  EXPECT_GT(found_mutants([](Program& program) {
              if (program.messages.empty()) return false;
              Operation& first = program.operations[program.messages.front()];
              first.peer = first.peer == 0 ? 1 : first.peer - 1;
              return true;
            }),
            20);
}

TEST(ProgramMutants, OfWhichAPieceIsShorterAreFound) {
  EXPECT_GT(found_mutants([](Program& program) {
              if (program.pieces.empty()) return false;
              program.pieces.back().bytes -= 4;
              return true;
            }),
            20);
}

/// Has a batch not wait for an operation. @param is_meant of the operation, and the first one of
/// the batch. @return whether there are such.
bool drops_edge(Program& program,
                const std::function<bool(const Operation&, const Operation&)>& is_meant) {
  for (std::uint32_t k = 0; k < program.size(); ++k) {
    const std::span<const std::uint32_t> next = program.next_of(k);
    const auto found = std::ranges::find_if(next, [&](std::uint32_t batch) {
      return is_meant(program.operations[k], program.operations[program.batches[batch].first]);
    });
    if (found == next.end()) continue;
    const std::uint32_t batch = *found;
    program.next.erase(program.next.begin() + program.operations[k].first_next +
                       (found - next.begin()));
    for (std::uint32_t later = k + 1; later < program.operations.size(); ++later)
      --program.operations[later].first_next;
    if (--program.needs[batch] == 0) program.starts.push_back(batch);
    return true;
  }
  return false;
}

/// A combination after the messages of its round that does not wait for one of them.
TEST(ProgramMutants, ThatCombineTooEarlyAreFound) {
  EXPECT_GT(found_mutants(
                [](Program& program) {
                  return drops_edge(program, [](const Operation& before, const Operation& after) {
                    return before.kind == OperationKind::recv &&
                           after.kind == OperationKind::combine && before.round == after.round;
                  });
                },
                false),
            10);
}

TEST(ProgramMutants, ThatStartMessagesOutOfOrderAreFound) {
  EXPECT_GT(found_mutants([](Program& program) {
              return drops_edge(program, [](const Operation& before, const Operation& after) {
                return before.kind == OperationKind::recv && after.kind == OperationKind::recv &&
                       before.peer == after.peer;
              });
            }),
            3);
}

/// @return how many mutants of programs in visible memory there were.
int found_visible_mutants(const Mutation& mutate) {
  return found_mutants(mutate, true, true);
}

TEST(ProgramMutants, ThatSignalTooEarlyOrNotAtAllAreFound) {
  EXPECT_GT(found_visible_mutants([](Program& program) {
              for (std::size_t i = 1; i < program.size(); ++i) {
                if (program.operations[i].kind != OperationKind::signal) continue;
                Operation& before = program.operations[i - 1];
                std::swap(before.kind, program.operations[i].kind);
                std::swap(before.message, program.operations[i].message);
                std::swap(before.combinations, program.operations[i].combinations);
                std::swap(before.first_combination, program.operations[i].first_combination);
                return true;
              }
              return false;
            }),
            3);
  EXPECT_GT(found_visible_mutants([](Program& program) {
              for (Operation& operation : program.operations) {
                if (operation.kind != OperationKind::signal) continue;
                operation.kind = OperationKind::combine;
                return true;
              }
              return false;
            }),
            3);
}

TEST(ProgramMutants, ThatStoreAnotherResultAreFound) {
  EXPECT_GT(found_visible_mutants([](Program& program) {
              detail::Forward* other = nullptr;
              for (detail::Forward& forward : program.forwards) {
                if (forward.spared == detail::kNoMessage) continue;
                if (other == nullptr) {
                  other = &forward;
                  continue;
                }
                std::swap(other->spared, forward.spared);
                return true;
              }
              return false;
            }),
            2);
  EXPECT_GT(found_visible_mutants([](Program& program) {
              for (detail::Place& place : program.operands)
                if (place.base == detail::Base::result) {
                  place.offset += 4;
                  return true;
                }
              return false;
            }),
            2);
}

/// Rank 0 holds rank 1 up, which rank 2 waits for, which rank 0 waits for.
TEST(ProgramMutants, ThatHoldTheirSendersUpAreFound) {
  const Slots first{Space::out, 0}, second{Space::out, 1};
  const Schedule paced{2, 0, true};
  const std::vector<Schedule> schedules{
      Schedule{paced}.round({RecvReduce{1, first}, RecvReduce{2, first}}),
      Schedule{paced}.round({Send{0, first}}).round({Send{2, second}}),
      Schedule{paced}.round({RecvReduce{1, second}}).round({Send{0, first}})};
  for (const bool lockstep : {false, true}) {
    const LoweredCase what{.contract = {Collective::reduce, 3, 0},
                           .counts = {8},
                           .visible = true,
                           .lockstep = lockstep};
    const std::string problem = check(schedules, what, lower_all(schedules, what, 0), 0);
    EXPECT_EQ(problem.find("wait for themselves") != problem.npos, lockstep) << problem;
  }
}

/// Two messages wait for each other.
TEST(ProgramMutants, ThatWaitForThemselvesAreFound) {
  const Schedule first = Schedule{1, 1, true}
                             .round({Send{1, {Space::in}}})
                             .round({Recv{1, {Space::scratch}}})
                             .round({Finish{{}}});
  const Schedule second = Schedule{1, 1, true}
                              .round({Send{0, {Space::in}}})
                              .round({Recv{0, {Space::scratch}}})
                              .round({Finish{{}}});
  const LoweredCase what{.contract = {Collective::all_reduce, 2, 0}, .counts = {5}};
  const std::vector<Schedule> schedules{first, second};
  EXPECT_NE(check(schedules, what, lower_all(schedules, what, 0), 0).find("wait for themselves"),
            std::string::npos);
}

}  // namespace
}  // namespace tutti::test
