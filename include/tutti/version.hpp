/// @file
/// The version of the headers, and of the library that runs.
#pragma once

#include <string_view>

#include <tutti/export.hpp>

#ifdef __clang__
// Editors find definitions only in the form below, of which clang warns.
#pragma clang diagnostic ignored "-Winline-namespace-reopened-noninline"
#endif

/// Everything of this version. Inline: programs write tutti::all_reduce; symbols carry the version.
namespace tutti {
inline namespace v0 {}
}  // namespace tutti

namespace tutti::v0 {

/// Version of these headers; grows with incompatible changes.
inline constexpr int kVersionMajor = 0;
inline constexpr int kVersionMinor = 1;  ///< Minor version of these headers.
inline constexpr int kVersionPatch = 0;  ///< Patch level of these headers.

/// @return the version of the library that runs, such as "0.1.0".
[[nodiscard]] TUTTI_API std::string_view version() noexcept;

}  // namespace tutti::v0
