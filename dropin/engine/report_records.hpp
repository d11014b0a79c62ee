/// @file
/// The records of a report file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dropin/engine/report_text.hpp"
#include "dropin/engine/sites.hpp"
#include "dropin/engine/times.hpp"

namespace tutti::dropin {

/// @return seconds that calls of tutti would have taken longer as the MPI's, by the medians;
/// nothing if only one of them ran calls.
[[nodiscard]] std::optional<double> saved_seconds(const TimesByRunner& times);

/// @param names of all sites. @return lines of JSON, as TimesText::records.
[[nodiscard]] std::string records_of(const Job& job, const std::vector<KindOfCalls>& kinds,
                                     const std::map<int, LateCalls>& late,
                                     const std::map<const Site*, std::string>& names);

}  // namespace tutti::dropin
