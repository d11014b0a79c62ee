/// @file
/// Correct schedules written by hand, independently of the catalog, and tools to break them.
#pragma once

#include <vector>

#include <tutti/spi/contract.hpp>
#include <tutti/spi/schedule.hpp>

namespace tutti::samples {

/// One schedule per rank, and what they achieve together.
struct Sample {
  Contract contract{};
  std::vector<Schedule> schedules{};
};

Sample ring_all_reduce(int size);
Sample ring_all_gather(int size);
/// For powers of two; keeps operands in the order of ranks.
Sample recursive_doubling_all_reduce(int size);
/// To root 0, in order.
Sample chain_reduce(int size);
/// From root 0.
Sample binomial_broadcast(int size);
/// From the root to every rank, in one round.
Sample linear_scatter(int size, Rank root);
/// From root 0 through rank 1, for at least two ranks: rank 1 carries foreign blocks.
Sample relayed_scatter(int size);
Sample pairwise_all_to_all(int size);
Sample dissemination_barrier(int size);
/// Every rank sends all to every rank and adds it in a later round each, starting with its
/// right neighbour: correct, but with a tree of its own on each rank.
Sample shouting_all_reduce(int size);

/// A schedule as lists, to be edited.
using Rounds = std::vector<std::vector<Step>>;
Rounds rounds_of(const Schedule& schedule);
Schedule schedule_of(const Rounds& rounds, const Schedule& like);

/// The same step with other slots.
Step with_slots(const Step& step, const Slots& slots);

}  // namespace tutti::samples
