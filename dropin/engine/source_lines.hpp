/// @file
/// Lines of source code, which the tool addr2line finds by debug information.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tutti::dropin {

/// @return such as "0x11f9".
[[nodiscard]] std::string hexadecimal(std::uintptr_t number);

/// Runs addr2line.
/// @param module the file of a program or library. @param offsets addresses in it. @param deadline
/// ends it.
/// @return for each of them a file and line, such as "main.c:12", or an empty text if it is
/// unknown; nothing if addr2line is missing.
[[nodiscard]] std::vector<std::string> source_lines(const std::string& module,
                                                    std::span<const std::uintptr_t> offsets,
                                                    std::chrono::steady_clock::time_point deadline);

}  // namespace tutti::dropin
