// What it takes to bind a call on many ranks: memory in proportion to the own steps, and no more.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/contract.hpp>

#include "collectives/lowering.hpp"

namespace {

std::atomic<std::size_t> now{0};
std::atomic<std::size_t> most{0};

// The size stands in front of what is lent.
constexpr std::size_t kFront = alignof(std::max_align_t);

void* lend(std::size_t bytes) {
  auto* const block = static_cast<std::size_t*>(std::malloc(bytes + kFront));
  if (block == nullptr) throw std::bad_alloc{};
  *block = bytes;
  const std::size_t sum = now += bytes;
  if (sum > most) most = sum;
  return reinterpret_cast<char*>(block) + kFront;
}
void take_back(void* memory) noexcept {
  if (memory == nullptr) return;
  void* const block = static_cast<char*>(memory) - kFront;
  now -= *static_cast<std::size_t*>(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return lend(bytes);
}
void* operator new[](std::size_t bytes) {
  return lend(bytes);
}
void operator delete(void* memory) noexcept {
  take_back(memory);
}
void operator delete[](void* memory) noexcept {
  take_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  take_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  take_back(memory);
}

namespace tutti::detail {
namespace {

/// Of one rank: its steps, and the most bytes there were at a time while it was bound.
struct Bound {
  std::size_t steps = 0;
  std::size_t bytes = 0;
};

std::size_t steps_of(const Schedule& schedule) {
  std::size_t steps = 0;
  for (std::size_t round = 0; round < schedule.rounds(); ++round)
    steps += schedule.round(round).size();
  return steps;
}

Bound bind(const Choice& choice, int size, Rank self) {
  const Contract contract{choice.algorithm->collective, size, 0};
  const std::size_t before = now;
  most = before;
  const Schedule schedule = choice.build(size, 0, self);
  const Layout layout{contract, self, std::size_t{16}};
  const Program program =
      lower(schedule, layout, {.element_bytes = 4, .combines = true}, {}, false);
  EXPECT_EQ(program.rounds, schedule.rounds());
  return {steps_of(schedule), most - before};
}

/// Beside its steps a rank may keep some words for each rank, as the places of its own blocks.
void expect_in_proportion(const Choice& choice, int size) {
  constexpr std::size_t kMostBytes = 400;
  for (const Rank self : {0, 1, size - 1}) {
    const Bound bound = bind(choice, size, self);
    EXPECT_LE(bound.bytes, kMostBytes * (bound.steps + static_cast<std::size_t>(size)))
        << name_of(choice.algorithm->collective) << " by " << choice.text() << " on " << size
        << " ranks: " << bound.steps << " steps of rank " << self;
  }
}

TEST(Scale, BindingTakesMemoryInProportionToTheOwnSteps) {
  for (const int size : {256, 1024, 4096})
    for (const Algorithm& row : catalog())
      if (has_default(row.parameter) && admits(row.traits.sizes, size))
        expect_in_proportion({.algorithm = &row, .number = row.default_number}, size);
}

TEST(Scale, BindingHierarchiesDoesToo) {
  for (const int size : {256, 1024, 4096}) {
    const std::string groups = ":groups=" + std::to_string(size / 16);
    for (const auto& [collective, text] :
         {std::pair{Collective::all_reduce, "hierarchical(circulant, ring)"},
          std::pair{Collective::all_gather, "hierarchical(circulant, circulant)"},
          std::pair{Collective::all_to_all, "hierarchical(pairwise, bruck)"}})
      expect_in_proportion(parse_choice(collective, text + groups), size);
  }
}

}  // namespace
}  // namespace tutti::detail
