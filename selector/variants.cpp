#include "variants.hpp"

#include <algorithm>
#include <utility>

#include <tutti/call.hpp>

namespace tutti::v0::detail {
namespace {

/// The most ranks for pairwise skips, which take a round for each other rank.
constexpr int kMostPairwise = 32;

/// Other values of a parameter that is a number.
std::vector<int> others_of(const Algorithm& row, int size) {
  std::vector<int> numbers;
  const auto add = [&](int number, bool is_of_use) {
    if (number != row.default_number && is_of_use) numbers.push_back(number);
  };
  switch (row.parameter) {
    case AlgorithmParameter::radix:
      // Fewer rounds of more messages each win if ranks wait for a core.
      for (const int radix : {2, 4, 8}) add(radix, radix / 2 < size);
      break;
    case AlgorithmParameter::blocks:
      // More blocks fill the pipeline, and take more messages.
      for (const int blocks : {4, 16, 32}) add(blocks, true);
      break;
    case AlgorithmParameter::in_flight:
      for (const int transfers : {2, 16}) add(transfers, transfers < size);
      break;
    case AlgorithmParameter::aggregation:
      for (const int blocks : {2, 32}) add(blocks, blocks < size);
      break;
    default: break;
  }
  return numbers;
}

/// Skips besides halving: every rank sends to every other one in a round of its own, with the
/// fewest bytes per round.
std::vector<int> pairwise_skips(int size) {
  std::vector<int> skips;
  if (size > 3 && size <= kMostPairwise)
    for (int skip = size - 1; skip > 0; --skip) skips.push_back(skip);
  return skips;
}

}  // namespace

std::vector<Variant> with_segments(Choice choice, const Problem& problem) {
  const std::size_t usual = choice.algorithm->segment_bytes;
  if (problem.segment == Options::kWhole) return {{std::move(choice), 0}};
  if (problem.segment != 0) return {{std::move(choice), problem.segment}};
  std::vector<Variant> variants{{std::move(choice), usual}};
  if (usual == 0 || problem.determinism >= Determinism::size_invariant) return variants;
  for (const std::size_t segment : {usual / 4, usual * 4})
    if (segment < problem.bytes()) variants.push_back({variants.front().choice, segment});
  return variants;
}

std::vector<Variant> variants_of(const Algorithm& row, const Problem& problem) {
  const Choice usual{.algorithm = &row, .number = row.default_number};
  std::vector<Variant> variants = with_segments(usual, problem);
  if (problem.determinism >= Determinism::size_invariant) return variants;
  const int size = problem.contract.size;
  std::vector<Choice> others;
  for (const int number : others_of(row, size))
    others.push_back({.algorithm = &row, .number = number});
  if (row.parameter == AlgorithmParameter::skips)
    if (std::vector<int> skips = pairwise_skips(size); !skips.empty())
      others.push_back({.algorithm = &row, .number = row.default_number, .skips = skips});
  for (Choice& choice : others)
    for (Variant& variant : with_segments(std::move(choice), problem))
      variants.push_back(std::move(variant));
  return variants;
}

}  // namespace tutti::v0::detail
