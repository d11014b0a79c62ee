/// @file
/// The description of a GradientSync in a checkpoint, and the arrays that follow from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "overlap/kept_state.hpp"

namespace tutti::v0::detail {

/// The first array of a checkpoint with a GradientSync, as 64-bit words.
struct SavedSync {
  std::uint64_t ranks = 0;  ///< Number of ranks that saved.
  std::uint64_t step = 0;   ///< As KeptState.
  std::uint64_t compression = 0;
  bool has_gradients = false;
  bool has_sums = false;
  std::vector<std::size_t> order{};
  std::vector<std::size_t> factors{};  ///< By parameter: the stored numbers of its factors.

  /// @param ranks that save. @param kept their state. @param parameters their number. @return what
  /// to save.
  [[nodiscard]] static SavedSync of(int ranks, const KeptState& kept, std::size_t parameters);
  /// Reads the words of a file. @param parameters number of them in the program. @param most lines
  /// of the file's table. Throws Error{invalid_argument}.
  [[nodiscard]] static SavedSync from(std::span<const std::uint64_t> words, std::size_t parameters,
                                      std::size_t most);
  /// @return the words to save.
  [[nodiscard]] std::vector<std::uint64_t> words() const;
  /// @param words number of words(). @param arrays of the program. @param parameters of its
  /// GradientSync. @param shards of the program. @return all arrays of the checkpoint in the order
  /// of the file, without data.
  [[nodiscard]] std::vector<Parameter> arrays(std::size_t words, std::span<const Parameter> arrays,
                                              std::span<const Parameter> parameters,
                                              std::span<const Parameter> shards) const;
};

/// @param table of a checkpoint. @param bytes of its file. @return the number of words of its
/// SavedSync. Throws Error{invalid_argument} if there is none.
[[nodiscard]] std::size_t words_of_sync(const std::string& table, std::uint64_t bytes);

}  // namespace tutti::v0::detail
