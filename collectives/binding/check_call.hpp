/// @file
/// Checks of calls: what is asked of a communicator becomes a Problem, or an error.
#pragma once

#include <cstddef>
#include <string_view>

#include <tutti/call.hpp>

#include "collectives/lowering/layout.hpp"
#include "selector/problem.hpp"

namespace tutti::v0::detail {

/// Checks a call made on rank `self` of `size`. Throws Error{invalid_argument}.
/// @return what it asks.
[[nodiscard]] Problem check(const Call& call, const Options& options, Rank self, int size);

/// The layout of a problem's buffers on one rank.
[[nodiscard]] Layout layout_of(const Problem& problem, Rank self);

/// Checks only where buffers lie. Throws Error{invalid_argument} that begins with the call's name.
void check_buffers(std::string_view name, const Layout& layout, std::size_t element_bytes,
                   const void* in, const void* out);
/// Memory of the caller's that a call reads, and that it writes.
struct TouchedBytes {
  std::span<const std::byte> read{};
  std::span<const std::byte> written{};
};
/// @param in where the input begins. @param out where the output begins. @return what the call
/// touches.
[[nodiscard]] TouchedBytes touched_bytes(const Layout& layout, std::size_t element_bytes,
                                         const void* in, const void* out);
/// Refuses an enumerator that there is not, as a call made by hand may name it, likewise.
/// @param what such as "datatype". @param value of the enumerator. @param count of all there are.
void check_enumerator(std::string_view name, std::string_view what, int value, int count);
/// Refuses a timeout that is less than zero, likewise.
void check_timeout(std::string_view name, Duration timeout);
/// Refuses to look for the end of a call whose batch has not started. @param is_enlisted whether it
/// is one. Throws Error{invalid_argument}.
void check_started(bool is_enlisted);
/// Refuses an element that cannot be, likewise.
void check_elements(std::string_view name, const Call& call);

}  // namespace tutti::v0::detail
