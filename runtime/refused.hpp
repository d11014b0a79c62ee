/// @file
/// Notes in a folder from ranks that do not agree with rank 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <tutti/error.hpp>

#include "runtime/folder.hpp"
#include "runtime/hello.hpp"

namespace tutti::runtime {

/// A rank that does not agree with rank 0.
struct Refused {
  Rank rank = 0;  ///< The rank that it claims.
  Hello hello{};
};

/// The start of the names of these notes.
inline constexpr std::string_view kRefused = "refused.";

/// @param nonce of rank 0.
void leave_refusal(Folder& folder, const std::string& nonce, const Refused& refused);
/// @param nonce of rank 0. @return the ranks that wrote it a note.
[[nodiscard]] std::vector<Refused> refusals(const Folder& folder, const std::string& nonce);
/// @param own registration of rank 0. @return such as "; refused: rank 1 (host a), which counts 3
/// ranks", or an empty text.
[[nodiscard]] std::string text_of(const std::vector<Refused>& all, const Hello& own);
/// @param own registration of rank 0. @param agreeing the number of ranks that agree with it,
/// including itself. @return Error{mismatch} if ranks of the same job have another world size.
[[nodiscard]] std::optional<Error> wrong_sizes(const std::vector<Refused>& all, const Hello& own,
                                               std::size_t fitting);

}  // namespace tutti::runtime
