/// @file
/// Recordings of what a program's calls resulted in, and where two runs of it begin to differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tutti/elements.hpp>
#include <tutti/export.hpp>
#include <tutti/types.hpp>

namespace tutti::v0 {

/// What one call resulted in on one rank.
struct RecordedResult {
  std::string name{};              ///< As the program calls it, such as "gradients of step 7".
  Datatype type = Datatype::u8;    ///< Of the elements.
  std::size_t element_bytes = 1;   ///< Of one of them.
  std::vector<std::byte> bytes{};  ///< All of them.
};

/// What the calls of one rank resulted in, one after the other.
class TUTTI_API Recording {
 public:
  /// Adds the result of a call. @param name for a person, equal on all ranks and in all runs.
  /// @param elements the result, which is copied.
  template <Elements R>
  void add(std::string name, const R& elements) {
    using T = ElementOf<R>;
    const auto bytes = std::as_bytes(std::span{
        std::ranges::data(elements), static_cast<std::size_t>(std::ranges::size(elements))});
    results_.push_back(
        {std::move(name), datatype_of<T>(), sizeof(T), {bytes.begin(), bytes.end()}});
  }

  /// @return all results.
  [[nodiscard]] std::span<const RecordedResult> results() const noexcept { return results_; }

  /// Writes the recording, for another run to be compared with. @param to a binary stream.
  void write(std::ostream& to) const;
  /// Reads what write wrote. @param from a binary stream. @return the recording. Throws
  /// Error{invalid_argument} where it is no recording, or ends too early.
  [[nodiscard]] static Recording read(std::istream& from);

 private:
  std::vector<RecordedResult> results_{};
};

/// Where two runs differ first.
struct Difference {
  std::size_t call = 0;     ///< Number of the call, from zero.
  Rank rank = 0;            ///< The first rank on which that call differs.
  std::string name{};       ///< What the program calls it, in the first run if they differ.
  std::size_t element = 0;  ///< The first element that differs, if elements do.
  /// How far the two elements are apart: floating-point numbers in units in the last place, of
  /// complex and indexed ones the first part that differs, integers by their difference. Zeros of
  /// unlike sign differ by nothing but their bits. Empty for what is not a number, for opaque
  /// elements, and where the calls themselves are not the same.
  std::optional<std::uint64_t> distance{};
  std::string explanation{};  ///< What differs there, with both values.

  /// @return all of it in a line for a person.
  [[nodiscard]] std::string text() const;
};

/// Compares two runs, bit by bit. @param first of each rank, in the order of ranks. @param second
/// likewise. @return where they differ first, by call, then rank, then element; nothing if they do
/// not. Throws Error{invalid_argument} for unlike numbers of ranks.
[[nodiscard]] TUTTI_API std::optional<Difference> first_difference(
    std::span<const Recording> first, std::span<const Recording> second);

}  // namespace tutti::v0
