/// @file
/// Names of nccl-tests and other tools for datatypes and operators.
#pragma once

#include <string>

namespace tutti::perf {

/// @param word such as "float" or "avg". @return tutti's name, such as "f32"; the word itself if it
/// is no name of another tool.
[[nodiscard]] std::string ours_of(const std::string& word);

/// @param word tutti's name of a datatype or an operator. @return that of nccl-tests, or the word
/// itself if nccl-tests has none.
[[nodiscard]] std::string theirs_of(const std::string& word);

}  // namespace tutti::perf
