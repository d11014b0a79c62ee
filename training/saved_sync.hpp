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

/// The first array of a checkpoint that was saved with a GradientSync, as 64-bit words.
struct SavedSync {
  std::uint64_t ranks = 0;  ///< Whose gradients were left out.
  std::uint64_t step = 0;   ///< As of KeptState, as the next.
  std::uint64_t compression = 0;
  bool has_gradients = false;
  bool has_sums = false;
  std::vector<std::size_t> order{};
  std::vector<std::size_t> factors{};  ///< By parameter: how many numbers are kept of its factors.

  /// @param ranks that save. @param kept by them. @param parameters of it. @return what to save.
  [[nodiscard]] static SavedSync of(int ranks, const KeptState& kept, std::size_t parameters);
  /// @param words of a file. @param parameters of the program. @param most lines of its table.
  /// @return their meaning. Throws Error{invalid_argument}.
  [[nodiscard]] static SavedSync from(std::span<const std::uint64_t> words, std::size_t parameters,
                                      std::size_t most);
  /// @return it as words.
  [[nodiscard]] std::vector<std::uint64_t> words() const;
  /// @param words how many it has. @param arrays of the program. @param parameters of its
  /// GradientSync. @param shards of the program. @return all arrays of the checkpoint in the order
  /// of the file, without data.
  [[nodiscard]] std::vector<Parameter> arrays(std::size_t words, std::span<const Parameter> arrays,
                                              std::span<const Parameter> parameters,
                                              std::span<const Parameter> shards) const;
};

/// @param table of a checkpoint. @param bytes of its file. @return the words of the SavedSync in
/// it. Throws Error{invalid_argument} where there is none.
[[nodiscard]] std::size_t words_of_sync(const std::string& table, std::uint64_t bytes);

}  // namespace tutti::v0::detail
