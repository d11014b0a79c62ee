/// @file
/// How this command was built. The build defines the facts; where it does not, they are unknown.
#pragma once

#include <string>

namespace tutti::perf {

/// @return the version of tutti, with the commit where it is known: "0.1.0 (9f2c1ab)".
[[nodiscard]] std::string build_version();

/// @return the compiler and its flags: "g++ 12.2.0 -O3".
[[nodiscard]] std::string build_compiler();

/// @param name of a script. @return where it lies, most specific place first: beside the sources,
/// then as installed; empty where it is gone.
[[nodiscard]] std::string script_named(const std::string& name);

/// @return a Python that the build's own scripts have made, with what theirs need; it need not be
/// there. Empty where the build knows none.
[[nodiscard]] std::string build_python();

}  // namespace tutti::perf
