/// @file
/// The start addresses of measured arrays.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tutti/types.hpp>

namespace tutti::perf {

/// The start of inputs and outputs. Each word is "malloc", 16 bytes after a page; "page", at a
/// page; or a power of two, that number of bytes after a page.
struct Alignment {
  std::string in = "malloc";   ///< For inputs, and arrays that are input and output.
  std::string out = "malloc";  ///< For outputs.

  /// @return bytes from a page to an input.
  [[nodiscard]] std::size_t in_offset() const;
  /// @return bytes from a page to an output.
  [[nodiscard]] std::size_t out_offset() const;
  /// @return as parse_alignment reads it: "malloc", or "16:4" where the two differ.
  [[nodiscard]] std::string text() const;
  /// @return the start of arrays from Communicator::allocate, for which "malloc" means "page".
  [[nodiscard]] Alignment of_visible() const;
};

/// Reads "malloc", "page", "64", or two of these as "64:page", for inputs and outputs. @return
/// nothing if the syntax is wrong.
[[nodiscard]] std::optional<Alignment> parse_alignment(std::string_view text);

/// @param type not opaque. @return the alignment of its elements, in bytes.
[[nodiscard]] std::size_t least_alignment(Datatype type);

/// Allocates memory. @param bytes more than zero.
using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;
/// @param bytes more than zero. @return memory that no other rank sees, aligned to a page. Throws
/// std::bad_alloc.
[[nodiscard]] std::shared_ptr<std::byte> allocate_private(std::size_t bytes);
/// @param allocate allocates memory of the host. @param bytes more than zero. @return memory that
/// starts `offset` bytes after a page.
[[nodiscard]] std::shared_ptr<std::byte> allocate_at(const Allocate& allocate, std::size_t bytes,
                                                     std::size_t offset);

}  // namespace tutti::perf
