#include "verify_broken_cases.hpp"

#include <functional>

namespace tutti::samples {
namespace {

/// The sample with one rank's rounds edited.
Sample edited(Sample sample, std::size_t rank, const std::function<void(Rounds&)>& edit) {
  Rounds rounds = rounds_of(sample.schedules[rank]);
  edit(rounds);
  sample.schedules[rank] = schedule_of(rounds, sample.schedules[rank]);
  return sample;
}

Sample edited_everywhere(Sample sample, const std::function<void(Rounds&)>& edit) {
  for (std::size_t rank = 0; rank < sample.schedules.size(); ++rank)
    sample = edited(std::move(sample), rank, edit);
  return sample;
}

/// An all_reduce of two ranks, written out: with one unit unless told.
Sample two_ranks(const Schedule& first, const Schedule& second) {
  return {{Collective::all_reduce, 2}, {first, second}};
}

Slots out(std::uint32_t first, std::uint32_t count = 1) {
  return {Space::out, first, count};
}
Slots in(std::uint32_t first, std::uint32_t count = 1) {
  return {Space::in, first, count};
}
Slots scratch(std::uint32_t first, std::uint32_t count = 1) {
  return {Space::scratch, first, count};
}

void add_form_cases(std::vector<Broken>& cases) {
  Sample fewer = ring_all_reduce(4);
  fewer.schedules.pop_back();
  cases.push_back({"one schedule too few", CheckKind::shape, fewer});
  Sample finer = ring_all_reduce(4);
  finer.schedules[2] = Schedule{8};
  cases.push_back({"ranks disagree on units", CheckKind::shape, finer});
  cases.push_back({"units do not cut blocks",
                   CheckKind::shape,
                   {{Collective::all_gather, 2}, {Schedule{3}, Schedule{3}}}});
  Sample open = ring_all_reduce(4);
  open.schedules[1].add(Send{0, out(0)});
  cases.push_back({"an open round", CheckKind::shape, open});
  Sample nobody = binomial_broadcast(4);
  nobody.contract.root = 4;
  cases.push_back({"a root that does not exist", CheckKind::shape, nobody});

  cases.push_back(
      {"a message to oneself", CheckKind::peer, edited(ring_all_reduce(4), 1, [](Rounds& r) {
         r[0][0] = Send{1, out(0)};
       })});
  cases.push_back(
      {"a peer beyond the last", CheckKind::peer, edited(ring_all_reduce(4), 1, [](Rounds& r) {
         r[0][0] = Send{4, out(0)};
       })});
  cases.push_back({"a negative peer", CheckKind::peer, edited(ring_all_reduce(4), 1, [](Rounds& r) {
                     r[0][0] = Send{-1, out(0)};
                   })});
  cases.push_back(
      {"a slot beyond out", CheckKind::bounds, edited(ring_all_reduce(4), 1, [](Rounds& r) {
         r[0][0] = Send{2, out(4)};
       })});
  cases.push_back(
      {"a run beyond in", CheckKind::bounds, edited(ring_all_reduce(4), 1, [](Rounds& r) {
         r[0][0] = Send{2, in(3, 2)};
       })});
  cases.push_back(
      {"scratch without planes", CheckKind::bounds, edited(ring_all_reduce(4), 1, [](Rounds& r) {
         r.push_back({Copy{out(0), scratch(0)}});
       })});
  cases.push_back(
      {"scratch beyond its planes", CheckKind::bounds, edited(relayed_scatter(4), 1, [](Rounds& r) {
         r.push_back({Copy{scratch(4), scratch(0)}});
       })});
  // Both units are there, one after the other, but not as blocks of a vector are.
  cases.push_back(
      {"a run over the end of a plane",
       CheckKind::plane_crossed,
       {{Collective::all_gather, 2},
        {Schedule{2, 2}
             .round({Copy{in(0), scratch(2)}, Recv{1, out(1)}})
             .round({Copy{out(1), scratch(1)}})
             .round({Send{1, scratch(1, 2)}}),
         Schedule{2, 2}.round({Send{0, in(1)}}).round({Recv{0, scratch(1)}, Recv{0, out(0)}})}}});
  cases.push_back({"receives into the input", CheckKind::input_written,
                   edited(ring_all_gather(4), 1, [](Rounds& r) {
                     r[0][1] = Recv{0, in(0)};
                   })});
  cases.push_back({"copies between unequal units", CheckKind::unit_changed,
                   edited(ring_all_gather(4), 1, [](Rounds& r) {
                     r.push_back({Copy{out(0), out(2)}});
                   })});
  cases.push_back(
      {"finishes what was only moved", CheckKind::finish_without_reduction,
       edited(ring_all_gather(4), 1, [](Rounds& r) { r.push_back({Finish{out(0)}}); })});
}

void add_round_cases(std::vector<Broken>& cases) {
  cases.push_back({"receives twice into one slot", CheckKind::race,
                   two_ranks(Schedule{1, 2}.round({Recv{1, scratch(0)}, Recv{1, scratch(0)}}),
                             Schedule{1, 2}.round({Send{0, in(0)}, Send{0, in(0)}}))});
  cases.push_back({"receives and reduces into one slot", CheckKind::race,
                   edited(recursive_doubling_all_reduce(4), 1, [](Rounds& r) {
                     r[0].push_back(Recv{2, out(0)});
                   })});
  cases.push_back({"reduces into a slot that the round receives", CheckKind::race,
                   edited(recursive_doubling_all_reduce(4), 1, [](Rounds& r) {
                     r[0].insert(r[0].begin(), Recv{2, out(0)});
                   })});
  cases.push_back(
      {"copies into a fold", CheckKind::race, edited(shouting_all_reduce(3), 1, [](Rounds& r) {
         r[2].push_back(Copy{scratch(1), out(0)});
       })});
  cases.push_back({"copies from a slot that the round receives", CheckKind::race,
                   edited(ring_all_gather(4), 1, [](Rounds& r) {
                     r[0].push_back(Copy{out(0), out(0)});
                   })});
  cases.push_back({"reduces from a slot that the round receives", CheckKind::race,
                   edited(shouting_all_reduce(3), 1, [](Rounds& r) {
                     r[1].push_back(Reduce{scratch(1), out(0), Side::right});
                   })});
  cases.push_back({"keeps the input while in place overwriting it", CheckKind::race,
                   two_ranks(Schedule{1, 1}.round(
                                 {RecvReduce{1, out(0)}, Send{1, out(0)}, Copy{in(0), scratch(0)}}),
                             Schedule{1, 1}.round({RecvReduce{0, out(0)}, Send{0, out(0)}}))});
  cases.push_back({"sends the input after in place overwriting it", CheckKind::stale_input,
                   two_ranks(Schedule{1}.round({RecvReduce{1, out(0)}}).round({Send{1, in(0)}}),
                             Schedule{1}.round({Send{0, in(0)}}).round({RecvReduce{0, out(0)}}))});
  cases.push_back(
      {"sends two units, of which it has overwritten the second", CheckKind::stale_input,
       two_ranks(Schedule{2}.round({RecvReduce{1, out(1)}}).round({Send{1, in(0, 2)}}),
                 Schedule{2}.round({Send{0, in(1)}}).round({RecvReduce{0, out(0, 2)}}))});
}

void add_message_cases(std::vector<Broken>& cases) {
  cases.push_back(
      {"nobody receives the last message", CheckKind::unmatched_send,
       edited(ring_all_reduce(4), 1, [](Rounds& r) { r.back().erase(r.back().begin() + 1); })});
  cases.push_back(
      {"nobody sends the last message", CheckKind::unmatched_receive,
       edited(ring_all_reduce(4), 1, [](Rounds& r) { r.back().erase(r.back().begin()); })});
  cases.push_back({"sends another unit", CheckKind::mismatched_message,
                   edited(ring_all_gather(4), 1, [](Rounds& r) {
                     r[1][0] = Send{2, out(1)};
                   })});
  cases.push_back({"sends fewer parts", CheckKind::mismatched_message,
                   edited(relayed_scatter(5), 0, [](Rounds& r) {
                     r[0][1] = Send{1, in(2, 2)};
                   })});
  cases.push_back({"sends more parts", CheckKind::mismatched_message,
                   edited(relayed_scatter(5), 1, [](Rounds& r) {
                     r[0][1] = Recv{0, scratch(2, 2)};
                   })});
  cases.push_back({"lists parts in another order", CheckKind::mismatched_message,
                   edited(relayed_scatter(4), 0, [](Rounds& r) { std::swap(r[0][0], r[0][1]); })});
  cases.push_back({"cuts a message in two", CheckKind::mismatched_message,
                   edited(edited(relayed_scatter(4), 0,
                                 [](Rounds& r) {
                                   r = {{r[0][0]}, {r[0][1]}};
                                 }),
                          1, [](Rounds& r) {
                            r.push_back({Recv{0, scratch(2, 2)}});
                          })});
  const Schedule sends_first = Schedule{1, 1}
                                   .round({Send{1, in(0)}})
                                   .round({RecvReduce{1, out(0), Side::right}})
                                   .round({Finish{out(0)}});
  const Schedule also_sends_first = Schedule{1, 1}
                                        .round({Send{0, in(0)}})
                                        .round({RecvReduce{0, out(0), Side::left}})
                                        .round({Finish{out(0)}});
  cases.push_back({"both send before they receive", CheckKind::deadlock,
                   two_ranks(sends_first, also_sends_first)});
  cases.push_back({"a ring that receives before it sends", CheckKind::deadlock,
                   edited_everywhere(ring_all_gather(4), [](Rounds& r) {
                     r.insert(r.begin(), {r[0][1]});
                     r[1].pop_back();
                   })});
}

void add_value_cases(std::vector<Broken>& cases) {
  cases.push_back({"reads unwritten scratch", CheckKind::unwritten_read,
                   edited(relayed_scatter(4), 1, [](Rounds& r) {
                     r.push_back({Copy{scratch(0), out(0)}});
                   })});
  cases.push_back(
      {"sends an unwritten slot", CheckKind::unwritten_read,
       edited_everywhere(ring_all_gather(3), [](Rounds& r) { std::swap(r[0], r[1]); })});
  cases.push_back({"reads an input that the rank lacks", CheckKind::unwritten_read,
                   edited(relayed_scatter(4), 1, [](Rounds& r) {
                     r.push_back({Copy{in(0), scratch(0)}});
                   })});
  cases.push_back({"reduces into unwritten scratch", CheckKind::unwritten_read,
                   edited(shouting_all_reduce(3), 0, [](Rounds& r) {
                     r.insert(r.begin(), {Reduce{in(0), scratch(0)}});
                   })});
  cases.push_back({"exchanges once too often", CheckKind::counted_twice,
                   edited_everywhere(recursive_doubling_all_reduce(4),
                                     [](Rounds& r) { r.insert(r.begin(), r[0]); })});
  cases.push_back(
      {"reduces the same scratch twice", CheckKind::counted_twice,
       edited(shouting_all_reduce(3), 0, [](Rounds& r) { r.insert(r.begin() + 3, r[2]); })});
  cases.push_back(
      {"stops one exchange short", CheckKind::missing_contribution,
       edited_everywhere(recursive_doubling_all_reduce(4), [](Rounds& r) { r.erase(r.begin()); })});
  cases.push_back({"a barrier that stops one signal short", CheckKind::missing_contribution,
                   edited_everywhere(dissemination_barrier(5), [](Rounds& r) { r.pop_back(); })});
  cases.push_back({"a result that was never written", CheckKind::wrong_result,
                   edited(edited(binomial_broadcast(4), 3, [](Rounds& r) { r.clear(); }), 1,
                          [](Rounds& r) { r.pop_back(); })});
  cases.push_back({"never finishes", CheckKind::not_finished,
                   edited(recursive_doubling_all_reduce(4), 2, [](Rounds& r) { r.pop_back(); })});
  cases.push_back({"finishes too early", CheckKind::finished_operand,
                   edited_everywhere(recursive_doubling_all_reduce(4),
                                     [](Rounds& r) { std::swap(r[1], r[2]); })});
  cases.push_back({"finishes twice", CheckKind::finished_twice,
                   edited(recursive_doubling_all_reduce(4), 2,
                          [](Rounds& r) { r.push_back({Finish{out(0)}}); })});
  cases.push_back(
      {"finishes what came finished", CheckKind::finished_twice,
       edited(ring_all_reduce(3), 2, [](Rounds& r) { r.push_back({Finish{out(0)}}); })});
}

void add_claim_cases(std::vector<Broken>& cases) {
  cases.push_back({"one side is wrong",
                   CheckKind::operand_order,
                   edited(recursive_doubling_all_reduce(4), 1,
                          [](Rounds& r) {
                            r[1][1] = RecvReduce{3, out(0), Side::left};
                          }),
                   {.ordered = true}});
  cases.push_back(
      {"a ring is not ordered", CheckKind::operand_order, ring_all_reduce(3), {.ordered = true}});
  cases.push_back({"a tree for each rank",
                   CheckKind::not_rank_identical,
                   shouting_all_reduce(3),
                   {.rank_identical = true, .size_invariant = true}});
  cases.push_back({"one rank finishes where it folds",
                   CheckKind::not_rank_identical,
                   edited(recursive_doubling_all_reduce(4), 1,
                          [](Rounds& r) {
                            r[1].push_back(r[2][0]);
                            r.pop_back();
                          }),
                   {.rank_identical = true}});
  cases.push_back({"a tree for each unit",
                   CheckKind::not_size_invariant,
                   ring_all_reduce(3),
                   {.rank_identical = true, .size_invariant = true}});
  cases.push_back({"another tree",
                   CheckKind::not_same_tree,
                   recursive_doubling_all_reduce(4),
                   {.size_invariant = true, .tree = 1}});
  cases.push_back({"a butterfly does not rotate",
                   CheckKind::not_rotational,
                   recursive_doubling_all_reduce(4),
                   {.rotational = true}});
  cases.push_back({"one round less",
                   CheckKind::not_rotational,
                   edited(ring_all_reduce(3), 2,
                          [](Rounds& r) {
                            r[1].push_back(r[2][0]);
                            r.erase(r.begin() + 2);
                          }),
                   {.rotational = true}});
  // Rank 0 takes in one round what rank 1 sends before, and rank 2 after, another message.
  cases.push_back(
      {"rounds that come after themselves",
       CheckKind::out_of_step,
       {{Collective::reduce, 3},
        {Schedule{2}.round({RecvReduce{1, out(0)}, RecvReduce{2, out(0, 2)}, Finish{out(0, 2)}}),
         Schedule{2}.round({Send{0, out(0)}}).round({Send{2, out(1)}}),
         Schedule{2}.round({RecvReduce{1, out(1)}}).round({Send{0, out(0, 2)}})}},
       {.lockstep = true}});
  cases.push_back({"carries foreign blocks",
                   CheckKind::foreign_counts,
                   relayed_scatter(4),
                   {.own_counts_only = true}});
}

}  // namespace

std::vector<Broken> broken_cases() {
  std::vector<Broken> cases{};
  add_form_cases(cases);
  add_round_cases(cases);
  add_message_cases(cases);
  add_value_cases(cases);
  add_claim_cases(cases);
  return cases;
}

}  // namespace tutti::samples
