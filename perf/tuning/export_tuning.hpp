/// @file
/// Tuning files as the configuration of other libraries.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "perf/tuning/libraries.hpp"
#include "selector/tuning.hpp"

namespace tutti::perf {

/// The rules of one library for one collective.
struct ExportedTable {
  /// A rule for a range of sizes.
  struct Rule {
    std::size_t from_bytes = 0;         ///< Least size of the whole vector.
    std::size_t until_bytes = 0;        ///< The next rule's from_bytes; 0: no limit.
    const Counterpart* runs = nullptr;  ///< Algorithm of the library; null: the library chooses.
    std::size_t segment_bytes =
        0;  ///< Segment, if the algorithm has segments; 0: the library decides.
  };
  detail::TunedPlace place{};  ///< Place of the measurement.
  std::vector<Rule> rules{};   ///< In order of size.
};

/// The exported tables, and reasons for those that cannot be exported.
struct Exported {
  std::vector<ExportedTable> tables{};  ///< With rules.
  std::vector<std::string> left_out{};  ///< Sentences for the user.
};

/// Selects tables.
struct ExportScope {
  std::string transport{};                ///< Tables of this transport; empty: any.
  bool visible = false;                   ///< Tables of visible buffers, or of private ones.
  int ranks = 0;                          ///< Tables of this number of ranks; 0: any.
  std::vector<Collective> collectives{};  ///< Tables of these collectives.
};

/// For each size, takes the fastest measured choice that the library has too. If it has none, the
/// library chooses, and left_out states that. Throws Failure{usage} if a collective has tables of
/// several transports or hosts for the same number of ranks. @param library outlives the result.
[[nodiscard]] Exported export_for(const detail::Tuning& tuning, const Library& library,
                                  const ExportScope& scope);

/// @param exported for this library. @param origin of the tuning, for a comment. @return the text
/// of the library's file. Throws Failure{environment} if no format has the name of its writer.
[[nodiscard]] std::string text_for(const Library& library, const Exported& exported,
                                   const std::string& origin);

}  // namespace tutti::perf
