/// @file
/// Checks of calls: a call becomes a Problem, or an error.
#pragma once

#include <cstddef>
#include <string_view>

#include <tutti/call.hpp>

#include "collectives/lowering/layout.hpp"
#include "selector/problem.hpp"

namespace tutti::v0::detail {

/// Checks a collective called on rank `self` of `size`. Throws Error{invalid_argument}.
[[nodiscard]] Problem check(const Call& call, const Options& options, Rank self, int size);

/// @return the layout of a problem's buffers on one rank.
[[nodiscard]] Layout layout_of(const Problem& problem, Rank self);

/// Checks that the buffers are not null and do not overlap. Throws Error{invalid_argument}, whose
/// text begins with the call's name, as do all checks below that take one.
void check_buffers(std::string_view name, const Layout& layout, std::size_t element_bytes,
                   const void* in, const void* out);
/// The caller's memory that a call reads, and the memory that it writes.
struct TouchedBytes {
  std::span<const std::byte> read{};
  std::span<const std::byte> written{};
};
/// @param in where the input begins. @param out where the output begins.
[[nodiscard]] TouchedBytes touched_bytes(const Layout& layout, std::size_t element_bytes,
                                         const void* in, const void* out);
/// Rejects a number that is no enumerator, which a program can cast to the enumeration.
/// @param what such as "datatype". @param count number of enumerators.
void check_enumerator(std::string_view name, std::string_view what, int value, int count);
/// Rejects a timeout below zero.
void check_timeout(std::string_view name, Duration timeout);
/// Throws Error{invalid_argument} if a call whose end is tested or awaited is of a batch that has
/// not started. @param is_enlisted whether it is.
void check_started(bool is_enlisted);
/// Rejects an element whose size is not that of its datatype.
void check_elements(std::string_view name, const Call& call);

}  // namespace tutti::v0::detail
