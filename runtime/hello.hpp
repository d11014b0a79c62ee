/// @file
/// What a rank that waits in a folder says of itself there.
#pragma once

#include <string>

#include <tutti/types.hpp>

namespace tutti::runtime {

/// What ranks must agree on, and who and where one is. Lines of text.
struct Hello {
  std::string format{};  ///< How notes in the folder are written.
  std::string job{};     ///< The launcher's name of the job, or empty.
  std::string size{};    ///< The number of ranks.
  std::string nonce{};   ///< A random name of the process's own.
  std::string host{};    ///< Where it runs.

  /// @param other another rank's. @return whether they can be of one world.
  [[nodiscard]] bool agrees_with(const Hello& other) const {
    return format == other.format && job == other.job && size == other.size;
  }
};

/// @param job see Hello. @param size of the world. @param nonce see Hello. @return what this
/// process says.
[[nodiscard]] Hello own_hello(const std::string& job, int size, const std::string& nonce);
/// @param rank any. @return the name of the note that holds what it says of itself.
[[nodiscard]] std::string hello_name(Rank rank);
/// @param hello any. @return it as the text of a note.
[[nodiscard]] std::string text_of(const Hello& hello);
/// @param text of a note. @return what it says; what is missing is empty.
[[nodiscard]] Hello hello_of(const std::string& text);
/// @param one that does not agree. @param other with which. @return what the one says of itself
/// that the other does not, such as "counts 3 ranks".
[[nodiscard]] std::string claim_of(const Hello& one, const Hello& other);

}  // namespace tutti::runtime
