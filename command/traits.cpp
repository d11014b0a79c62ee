#include "command/traits.hpp"

#include "proof/verify_row.hpp"

namespace tutti::command {

std::vector<std::string> words_of(Collective collective, const Traits& traits) {
  std::vector<std::string> words;
  const auto add = [&words](const char* property, When when) {
    if (when == When::always) words.emplace_back(property);
    if (when == When::power_of_two) words.emplace_back(std::string{property} + " (2^n ranks)");
    if (when == When::root_is_zero) words.emplace_back(std::string{property} + " (root 0)");
  };
  if (judges_numbers(collective)) {
    add("ordered", traits.ordered);
    // Only one rank has the result of a reduce.
    if (collective == Collective::all_reduce) add("rank_identical", traits.rank_identical);
    add("size_invariant", traits.size_invariant);
    if (!traits.same_tree_as.empty())
      words.push_back("same_tree_as " + std::string{traits.same_tree_as});
  }
  if (traits.rotational) words.emplace_back("rotational");
  if (judges_counts(collective) && traits.own_counts_only) words.emplace_back("own_counts_only");
  if (!traits.lockstep) words.emplace_back("not lockstep");
  return words;
}

}  // namespace tutti::command
