// Turns schedules of files into rows of a catalog.
#include <algorithm>

#include <tutti/error.hpp>
#include <tutti/spi/schedule_file.hpp>

#include "schedules/written.hpp"

namespace tutti::v0 {
namespace {

/// The traits that two tables have in common.
Traits both(const Traits& a, const Traits& b) {
  return {.ordered = std::min(a.ordered, b.ordered),
          .rank_identical = std::min(a.rank_identical, b.rank_identical),
          .size_invariant = std::min(a.size_invariant, b.size_invariant),
          .rotational = a.rotational && b.rotational,
          .own_counts_only = a.own_counts_only && b.own_counts_only,
          .lockstep = a.lockstep && b.lockstep};
}

/// A name in the form of a catalog: lower-case letters and digits; all between words becomes one
/// underscore.
std::string word_of(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((small >= 'a' && small <= 'z') || (small >= '0' && small <= '9')) word += small;
    else if (!word.empty() && word.back() != '_') word += '_';
  }
  while (word.ends_with('_')) word.pop_back();
  return word;
}

}  // namespace

void WrittenAlgorithms::add(WrittenSchedules written, std::string_view source) {
  const Traits traits = written::proved_traits(written);
  Entry& entry = entries_[{written.collective, word_of(written.name)}];
  entry.traits = entry.sources.empty() ? traits : both(entry.traits, traits);
  entry.sources += (entry.sources.empty() ? "" : ", ") + std::string{source};
  entry.table.add(written.root, std::move(written.schedules));
}

void WrittenAlgorithms::add_to(Catalog& catalog) const {
  for (const auto& [key, entry] : entries_) try {
      const std::string summary = "written down in " + entry.sources;
      catalog.add(
          {.collective = key.first, .name = key.second, .traits = entry.traits, .summary = summary},
          entry.table);
    } catch (const Error& error) {
      throw Error{error.code(), entry.sources + ": " + error.what()};
    }
}

}  // namespace tutti::v0
