/// @file
/// Where the arrays of a measurement begin.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tutti/types.hpp>

namespace tutti::perf {

/// Where inputs and outputs begin. Each word is "malloc", 16 bytes after a page; "page", at a page;
/// or a power of two, that many bytes after a page.
struct Alignment {
  std::string in = "malloc";   ///< Of inputs, and of arrays that are both.
  std::string out = "malloc";  ///< Of outputs.

  /// @return bytes from a page to an input.
  [[nodiscard]] std::size_t in_offset() const;
  /// @return bytes from a page to an output.
  [[nodiscard]] std::size_t out_offset() const;
  /// @return as parse_alignment reads it: "malloc", or "16:4" where the two differ.
  [[nodiscard]] std::string text() const;
  /// @return where arrays from Communicator::allocate begin: malloc does not place them.
  [[nodiscard]] Alignment of_visible() const;
};

/// Reads "malloc", "page", "64", or two of these as "64:page", of inputs and outputs.
/// @param text what was written. @return the alignment, or nothing if the syntax is wrong.
[[nodiscard]] std::optional<Alignment> parse_alignment(std::string_view text);

/// @param type not opaque. @return the alignment that its elements need, in bytes.
[[nodiscard]] std::size_t least_alignment(Datatype type);

/// Gives memory of its own. @param bytes more than zero.
using Allocate = std::function<std::shared_ptr<std::byte>(std::size_t bytes)>;
/// @param bytes more than zero. @return memory that no other rank sees, aligned to a page; throws
/// std::bad_alloc.
[[nodiscard]] std::shared_ptr<std::byte> allocate_private(std::size_t bytes);
/// @param allocate gives memory of the host. @param bytes more than zero. @param offset from a
/// page.
/// @return memory that begins that many bytes after a page.
[[nodiscard]] std::shared_ptr<std::byte> allocate_at(const Allocate& allocate, std::size_t bytes,
                                                     std::size_t offset);

}  // namespace tutti::perf
