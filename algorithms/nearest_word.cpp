#include "nearest_word.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tutti {
namespace {

/// Edits that turn one word into the other (Levenshtein).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> choices) {
  std::size_t least = word.size() / 2 + 2;  // Further away it is no typing error.
  std::string_view nearest;
  for (const std::string_view choice : choices) {
    const std::size_t distance = edits(word, choice);
    if (distance >= least) continue;
    least = distance;
    nearest = choice;
  }
  return nearest;
}

}  // namespace tutti
