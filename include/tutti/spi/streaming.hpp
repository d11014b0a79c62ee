/// @file
/// Copies past the caches of the own core: for bytes that would not stay there, or that another
/// core reads next, which would otherwise fetch them from these caches, line by line.
#pragma once

#include <cstddef>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// Copies whole lines past the caches, and the ends through them; all through them if the processor
/// has no such stores. Call end_streams before another thread is notified. Thread-safe. @param from
/// no overlap.
TUTTI_API void stream(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Waits until streamed bytes of this thread are visible to others. A later store may notify them;
/// a release store alone does not order streamed bytes.
TUTTI_API void end_streams() noexcept;

}  // namespace tutti::v0
