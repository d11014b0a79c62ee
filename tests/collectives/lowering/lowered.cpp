#include "lowered.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "proof/verify_row.hpp"

namespace tutti::test {
namespace {

/// Whether a rank that is asked to can be in place, as programs see it.
bool is_in_place(const LoweredCase& what, Rank rank, const detail::Layout& layout) {
  return (what.in_place >> static_cast<unsigned>(rank) & 1) != 0 && layout.in_total() > 0 &&
         layout.out_total() > 0 && what.contract.collective != Collective::all_to_all;
}

detail::Layout layout_of(const LoweredCase& what, Rank rank) {
  if (what.is_equal) return {what.contract, rank, what.counts.front()};
  return {what.contract, rank, what.counts};
}

}  // namespace

std::string LoweredCase::words() const {
  std::string text = std::string{name_of(contract.collective)} + " on " +
                     std::to_string(contract.size) + " ranks, root " +
                     std::to_string(contract.root) + ", blocks of";
  for (std::size_t i = 0; i < std::min<std::size_t>(counts.size(), 8); ++i)
    text += " " + std::to_string(counts[i]);
  return text + (is_equal ? " (equal), " : ", ") + std::to_string(segments) + " segments" +
         (combines ? "" : ", staged") + (visible ? ", visible" : "") + ", in place " +
         std::to_string(in_place);
}

Lowered lower_all(const std::vector<Schedule>& schedules, const LoweredCase& what,
                  std::size_t segment) {
  constexpr std::size_t kElementBytes = 4;
  Lowered lowered;
  const std::size_t size = schedules.size();
  lowered.programs.reserve(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto rank = static_cast<Rank>(i);
    const detail::Layout layout = layout_of(what, rank);
    const bool in_place = is_in_place(what, rank, layout);
    detail::Programs programs{schedules[i],
                              layout,
                              {.element_bytes = kElementBytes,
                               .segments = what.segments,
                               .divides = true,
                               .combines = what.combines,
                               .visible = what.visible,
                               .least_visible = 1,
                               .lockstep = what.lockstep}};
    const auto found = programs.find(segment, in_place);
    lowered.programs.push_back(*found.program);
    lowered.ranks.push_back(
        {.program = &lowered.programs.back(), .shift = found.shift, .in_place = in_place});
  }
  return lowered;
}

std::string check(const std::vector<Schedule>& schedules, const LoweredCase& what,
                  const Lowered& lowered, std::size_t segment) {
  return detail::check_programs({.contract = what.contract,
                                 .schedules = schedules,
                                 .ranks = lowered.ranks,
                                 .counts = what.counts,
                                 .segment = segment,
                                 .segments = what.segments,
                                 .element_bytes = 4,
                                 .seed = segment + what.in_place + 1});
}

std::vector<LoweredCase> cases_of(const Contract& contract, bool lockstep) {
  std::vector<LoweredCase> cases;
  const std::size_t blocks = contract.blocks();
  const auto add = [&](std::vector<std::size_t> counts, bool is_equal, std::size_t segments) {
    // In place on no rank, on all, and on some.
    for (const std::uint64_t in_place : {std::uint64_t{0}, ~std::uint64_t{0}, 0x5a5a5a5a5a5a5a5aU})
      for (const bool visible : {false, true})
        if (!visible || contract.reduces())
          cases.push_back({.contract = contract,
                           .counts = counts,
                           .is_equal = is_equal,
                           .segments = segments,
                           .combines = cases.size() % 7 != 3,
                           .visible = visible,
                           .lockstep = lockstep,
                           .in_place = in_place});
  };
  add(std::vector<std::size_t>(blocks, 7), true, 1);
  add(std::vector<std::size_t>(blocks, 7), true, 3);
  add(std::vector<std::size_t>(blocks, 1), true, 1);
  add(std::vector<std::size_t>(blocks, 0), true, 1);
  if (blocks == 1) return cases;
  std::vector<std::size_t> unequal(blocks);
  for (std::size_t i = 0; i < blocks; ++i) unequal[i] = i % 3 == 1 ? 0 : 2 + i % 5;
  add(unequal, false, 1);
  add(unequal, false, 3);
  return cases;
}

namespace {

void check_choice(const Choice& choice, const Contract& contract) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < contract.size; ++rank)
    schedules.push_back(choice.build(contract.size, contract.root, rank));
  for (const LoweredCase& what : cases_of(contract, choice.algorithm->traits.lockstep))
    for (std::size_t segment = 0; segment < what.segments; ++segment) {
      const std::string problem =
          check(schedules, what, lower_all(schedules, what, segment), segment);
      if (!problem.empty())
        ADD_FAILURE() << choice.text() << ", " << what.words() << ", segment " << segment << ": "
                      << problem;
    }
}

}  // namespace

void check_rows(int size) {
  constexpr int kAllRoots = 8;
  for (const Algorithm& row : catalog()) {
    if (!admits(row.traits.sizes, size)) continue;
    std::vector<Rank> roots{0};
    if (is_rooted(row.collective)) {
      roots = {0, size / 2, size - 1};
      if (size <= kAllRoots) {
        roots.resize(static_cast<std::size_t>(size));
        std::iota(roots.begin(), roots.end(), 0);
      }
    }
    for (const Choice& choice : verified_choices(row, size, 1))
      for (const Rank root : roots) check_choice(choice, {row.collective, size, root});
  }
}

}  // namespace tutti::test
