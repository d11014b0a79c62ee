/// @file
/// The memory that the machine has left.
#pragma once

#include <cstddef>
#include <filesystem>

namespace tutti::shm {

/// @param root of the file system, for tests. @return bytes that may be allocated before the
/// system has to end a process: MemAvailable, or less where a control group of this process has a
/// limit. The largest number where neither is known.
[[nodiscard]] std::size_t available_memory(const std::filesystem::path& root = "/");

}  // namespace tutti::shm
