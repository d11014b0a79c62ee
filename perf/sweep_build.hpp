/// @file
/// How this command was built. The build defines the facts; where it does not, they are unknown.
#pragma once

#include <string>

namespace tutti::perf {

/// @return the version of tutti, with the commit where it is known: "0.1.0 (9f2c1ab)".
[[nodiscard]] std::string build_version();

/// @return the compiler and its flags: "g++ 12.2.0 -O3".
[[nodiscard]] std::string build_compiler();

/// @return where plot.py lies, most specific place first: beside the sources, then as installed.
[[nodiscard]] std::string plot_script();

}  // namespace tutti::perf
