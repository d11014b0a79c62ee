/// @file
/// Notes in a folder that report to a waiting process why there can be no world.
#pragma once

#include <optional>
#include <string>

#include <tutti/error.hpp>

#include "runtime/folder.hpp"

namespace tutti::runtime {

/// The start of the names of these notes; the nonce of a process follows.
inline constexpr std::string_view kFailed = "failed.";

/// @param nonce of the process that reads the note, or of a rank 0 that writes it for all others.
/// @param error why there can be no world.
void leave_failure(Folder& folder, const std::string& nonce, const Error& error);
/// @param nonce as in write_failure_note. @return the error in the note, if there is one.
[[nodiscard]] std::optional<Error> failure_left(const Folder& folder, const std::string& nonce);

}  // namespace tutti::runtime
