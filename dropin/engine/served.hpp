/// @file
/// The calls that TUTTI_MPI lets tutti serve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>

namespace tutti::dropin {

/// Collectives, by their names in small letters, each with the size from which on tutti serves it.
class Served {
 public:
  /// The size of collectives that tutti does not serve.
  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();

  /// All calls.
  Served() = default;
  /// @param text "on", "off", or names such as "allreduce,bcast>=64K". Throws
  /// Error{invalid_argument} with the variable and what is wrong in it.
  Served(std::string_view text, bool (*is_collective)(std::string_view));

  [[nodiscard]] bool is_none() const noexcept { return !is_all_ && least_.empty(); }
  /// @return the fewest bytes, as SimilarCalls has them; 0: all calls.
  [[nodiscard]] std::size_t least_bytes(std::string_view collective) const noexcept;
  /// @return a number that others have only if they are equal, but for an unlikely coincidence.
  [[nodiscard]] std::int64_t fingerprint() const;

 private:
  bool is_all_ = true;
  std::map<std::string, std::size_t, std::less<>> least_{};
};

/// @return the text in small letters.
[[nodiscard]] std::string lower(std::string_view text);

}  // namespace tutti::dropin
