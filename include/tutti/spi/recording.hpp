/// @file
/// Recordings of the results of calls, and the first difference between two runs.
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

/// The result of one call on one rank.
struct RecordedResult {
  std::string name{};              ///< Name by the program, such as "gradients of step 7".
  Datatype type = Datatype::u8;    ///< Type of the elements.
  std::size_t element_bytes = 1;   ///< Size of an element.
  std::vector<std::byte> bytes{};  ///< The elements.
};

/// The results of the calls of one rank, in their order.
class TUTTI_API Recording {
 public:
  /// Adds the result of a call. @param name equal on all ranks and in all runs. @param elements
  /// copied.
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

  /// Writes the recording, for the comparison with another run. @param to a binary stream.
  void write(std::ostream& to) const;
  /// Reads a recording. @param from a binary stream. Throws Error{invalid_argument} if it is no
  /// recording, or ends too early.
  [[nodiscard]] static Recording read(std::istream& from);

 private:
  std::vector<RecordedResult> results_{};
};

/// The first difference of two runs.
struct Difference {
  std::size_t call = 0;     ///< Number of the call, from zero.
  Rank rank = 0;            ///< The first rank on which that call differs.
  std::string name{};       ///< Name by the program, in the first run if they differ.
  std::size_t element = 0;  ///< The first element that differs, if elements do.
  /// Distance of the two elements: of floating-point numbers in units in the last place (for
  /// complex and indexed ones, of the first part that differs), of integers their difference. Zeros
  /// of different sign have distance 0. Empty for NaN, for opaque elements, and if the calls
  /// differ.
  std::optional<std::uint64_t> distance{};
  std::string explanation{};  ///< The difference, with both values.

  /// @return the difference as one line of text.
  [[nodiscard]] std::string text() const;
};

/// Compares two runs, bit by bit.
/// @param first recordings of all ranks, in order. @param second those of the other run.
/// @return the first difference by call, then rank, then element; nothing if there is none. Throws
/// Error{invalid_argument} if the numbers of ranks differ.
[[nodiscard]] TUTTI_API std::optional<Difference> first_difference(
    std::span<const Recording> first, std::span<const Recording> second);

}  // namespace tutti::v0
