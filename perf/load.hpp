/// @file
/// Algorithms of the files that `--load` names.
#pragma once

#include <memory>
#include <string>

#include <tutti/spi/catalog.hpp>

namespace tutti::perf {

/// The help of `--load`.
inline constexpr const char* kLoadHelp = "add algorithms: [NAME=]FILE.json, .xml, .so";

/// Adds the algorithms of files to tutti's own. Schedules in files are proved when they are read.
/// Files with the same name and collective describe one algorithm for several numbers of ranks, or
/// roots. Throws Failure{usage}, and Failure{wrong_data} if the proof of a schedule fails. @param
/// files separated by commas; NAME= before a file renames its algorithm. @return all algorithms.
[[nodiscard]] std::shared_ptr<const Catalog> load_catalog(const std::string& files);

}  // namespace tutti::perf
