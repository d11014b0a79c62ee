/// @file
/// Tuning files as the configuration of other libraries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/tuning/export_counterparts.hpp"
#include "selector/tuning.hpp"

namespace tutti::perf {

/// What one library is to run of one collective.
struct ExportedTable {
  /// From a size on.
  struct Rule {
    std::size_t from_bytes = 0;         ///< Of the whole vector.
    std::size_t until_bytes = 0;        ///< The next rule's from_bytes; 0: for ever.
    const Counterpart* runs = nullptr;  ///< There; null: what the library chooses itself.
    std::size_t segment_bytes = 0;      ///< Where it has segments; 0: it decides.
  };
  detail::TunedPlace place{};  ///< Where it was measured.
  std::vector<Rule> rules{};   ///< By size.
};

/// What is exported, and what cannot be.
struct Exported {
  std::vector<ExportedTable> tables{};  ///< With rules.
  std::vector<std::string> left_out{};  ///< Sentences.
};

/// Which tables are meant.
struct ExportScope {
  std::string transport{};                ///< Only those of it; empty: any.
  bool visible = false;                   ///< Only those of such buffers.
  int ranks = 0;                          ///< Only those of so many; 0: any.
  std::vector<Collective> collectives{};  ///< Only those.
};

/// Takes of each size the fastest measured choice that the library has too; where it has none, the
/// library chooses, which left_out says. Throws Failure{usage}
/// where a collective has tables of several transports or hosts for the same number of ranks.
/// @param tuning a file. @param scope which tables. @return tables.
[[nodiscard]] Exported export_for(const detail::Tuning& tuning, Library library,
                                  const ExportScope& scope);

/// Formats by name: openmpi, openmpi6, mpich, mpich5, intel, ucc, nccl. @return their names.
[[nodiscard]] std::vector<std::string> export_formats();
/// @param format one of export_formats. @return the library that reads it.
[[nodiscard]] Library library_of(const std::string& format);
/// @param format one of export_formats. @param exported for its library. @param origin of the
/// tuning, for a comment. @return the file's text.
[[nodiscard]] std::string text_in_format(const std::string& format, const Exported& exported,
                                         const std::string& origin);

}  // namespace tutti::perf
