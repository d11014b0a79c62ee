/// @file
/// Algorithms of one's own, from the files that `--load` names.
#pragma once

#include <memory>
#include <string>

#include <tutti/spi/catalog.hpp>

namespace tutti::perf {

/// What `--load` is, in the help.
inline constexpr const char* kLoadHelp = "add algorithms: [NAME=]FILE.json, .xml, .so";

/// Adds the algorithms of files to tutti's own. What is written down is proved at once. Files that
/// name the same algorithm of a collective are about several numbers of ranks, or roots. Throws
/// Failure{usage}, and Failure{wrong_data} where a schedule cannot be proved.
/// @param files with commas between them; before one may stand a name and "=". @return all there is
/// to choose from.
[[nodiscard]] std::shared_ptr<const Catalog> load_catalog(const std::string& files);

}  // namespace tutti::perf
