/// @file
/// Who came to a rank 0 that waits in a folder and does not agree with it: notes that they leave.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tutti/error.hpp>

#include "runtime/folder.hpp"
#include "runtime/hello.hpp"

namespace tutti::runtime {

/// Who does not agree.
struct Refused {
  Rank rank = 0;  ///< Who it says it is.
  Hello hello{};  ///< What it says of itself.
};

/// How the names of notes begin that tell a rank 0 who does not agree with it.
inline constexpr std::string_view kRefused = "refused.";

/// Leaves the note. @param folder where they meet. @param nonce of rank 0. @param refused who.
void leave_refusal(Folder& folder, const std::string& nonce, const Refused& refused);
/// @param folder where they meet. @param nonce of rank 0. @return who left it a note.
[[nodiscard]] std::vector<Refused> refusals(const Folder& folder, const std::string& nonce);
/// @param all that were refused. @param own what rank 0 says of itself. @return such as "; turned
/// away: rank 1 (host a), which counts 3 ranks", or nothing.
[[nodiscard]] std::string text_of(const std::vector<Refused>& all, const Hello& own);
/// @param all that were refused. @param own what rank 0 says of itself. @param agreeing how many
/// agree with it, itself among them. @return why there can be no world, if ranks of this very job
/// count other ranks: Error{mismatch}.
[[nodiscard]] std::optional<Error> wrong_sizes(const std::vector<Refused>& all, const Hello& own,
                                               std::size_t agreeing);

}  // namespace tutti::runtime
