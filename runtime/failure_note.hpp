/// @file
/// Notes in a folder that tell a waiting process why there can be no world.
#pragma once

#include <optional>
#include <string>

#include <tutti/error.hpp>

#include "runtime/folder.hpp"

namespace tutti::runtime {

/// How the names of these notes begin; the nonce of a process follows.
inline constexpr std::string_view kFailed = "failed.";

/// Leaves the note. @param folder where the ranks meet. @param nonce of the process it is for, or
/// of a rank 0 that leaves it for all others. @param error why there can be no world.
void leave_failure(Folder& folder, const std::string& nonce, const Error& error);
/// @param folder where the ranks meet. @param nonce see leave_failure. @return what was left.
[[nodiscard]] std::optional<Error> failure_left(const Folder& folder, const std::string& nonce);

}  // namespace tutti::runtime
