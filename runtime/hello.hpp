/// @file
/// Registration: the note of a rank that waits in a folder.
#pragma once

#include <string>

#include <tutti/types.hpp>

namespace tutti::runtime {

/// The facts on which ranks must agree, and the identity of one of them. Lines of text.
struct Hello {
  std::string format{};  ///< The version of the notes.
  std::string job{};     ///< The launcher's name of the job, or empty.
  std::string size{};    ///< The number of ranks.
  std::string nonce{};   ///< A random name of the process.
  std::string host{};    ///< The name of its host.

  /// @return whether the two can belong to one world.
  [[nodiscard]] bool agrees_with(const Hello& other) const {
    return format == other.format && job == other.job && size == other.size;
  }
};

/// @return the registration of this process.
[[nodiscard]] Hello own_hello(const std::string& job, int size, const std::string& nonce);
/// @return the name of a rank's note.
[[nodiscard]] std::string hello_name(Rank rank);
[[nodiscard]] std::string text_of(const Hello& hello);
/// @return the registration in a note; missing lines are empty.
[[nodiscard]] Hello hello_of(const std::string& text);
/// @return the first fact in which two registrations differ, as the first one has it, such as
/// "counts 3 ranks".
[[nodiscard]] std::string claim_of(const Hello& one, const Hello& other);

}  // namespace tutti::runtime
