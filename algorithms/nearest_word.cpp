#include "nearest_word.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace tutti::v0 {
namespace {

/// Edits that turn one word into the other, where two letters that swap places are one edit, too
/// (optimal string alignment).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> earlier;
  std::vector<std::size_t> before;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    earlier = std::exchange(before, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({before[j] + 1, row[j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], earlier[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string_view> nearest_words(std::string_view word,
                                            std::span<const std::string_view> choices) {
  if (word.size() < 2) return {};
  // Up to one letter in three, and at least one: more edits are not a typing error.
  std::size_t least = std::max<std::size_t>(1, word.size() / 3);
  std::vector<std::string_view> nearest;
  for (const std::string_view choice : choices) {
    const std::size_t distance = edits(word, choice);
    if (distance > least) continue;
    if (distance < least) nearest.clear();
    least = distance;
    nearest.push_back(choice);
  }
  return nearest;
}

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> choices) {
  const std::vector<std::string_view> nearest = nearest_words(word, choices);
  return nearest.empty() ? std::string_view{} : nearest.front();
}

}  // namespace tutti::v0
