/// @file
/// Copies that leave no trace in the caches of the core that makes them: for bytes that would not
/// stay there, or that another core reads next, which would have to fetch them out of these caches,
/// line by line.
#pragma once

#include <cstddef>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// Copies whole lines past the caches, and the ends through them; all through them where the
/// processor has no such stores. Call end_streams before anybody is told. Calls from several
/// threads at once are safe. @param to where the bytes go. @param from where they are; no overlap.
/// @param bytes how many.
TUTTI_API void stream(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Waits until what this thread has streamed is where others see it. What it stores afterwards may
/// tell them so; a release by itself does not wait for streamed bytes.
TUTTI_API void end_streams() noexcept;

}  // namespace tutti::v0
