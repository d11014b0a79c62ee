/// @file
/// The build of this command. Facts that the build system does not define are unknown.
#pragma once

#include <string>

namespace tutti::perf {

/// @return the version of tutti, with the commit if it is known: "0.1.0 (9f2c1ab)".
[[nodiscard]] std::string build_version();

/// @return the compiler and its flags: "g++ 12.2.0 -O3".
[[nodiscard]] std::string build_compiler();

/// @return the path of a script or of data: as installed, else beside the sources. Throws
/// Failure{environment} if it is in neither folder.
[[nodiscard]] std::string shared_file(const std::string& name);

/// @return the folder of the modules of MPIs, seen from the command.
[[nodiscard]] std::string module_folder();

/// @return the path of the Python that the scripts of the build install, with the packages that the
/// command's scripts need. It may be missing. Empty if the build names none.
[[nodiscard]] std::string build_python();

}  // namespace tutti::perf
