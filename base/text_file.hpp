/// @file
/// Files that a user names, read as a whole and within one limit.
#pragma once

#include <cstddef>
#include <string>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// The longest file that is read, in bytes: 256 MiB. The largest network in JSON needs half of
/// that.
inline constexpr std::size_t kMostFileBytes = std::size_t{1} << 28U;

/// Reads a file. Devices and pipes are read to their end, or rejected at the limit. Throws
/// Error{invalid_argument} that starts with the path, for a person: "PATH: no such file", "PATH: it
/// is a folder", "PATH: it has more than 256 MiB, the most that is read".
[[nodiscard]] std::string read_text_file(const std::string& path);

}  // namespace tutti::v0::detail
