/// @file
/// The memory that the machine has left, and the memory that is taken of it with care.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// @param root of the file system, for tests. @return bytes that may be allocated before the
/// system has to end a process: MemAvailable, or less where a control group of this process has a
/// limit. The largest number where neither is known.
[[nodiscard]] std::size_t available_memory(const std::filesystem::path& root = "/");

/// Allocations of fewer bytes are not worth a look at the memory of the machine, which is slow.
inline constexpr std::size_t kLargeAllocation = std::size_t{32} << 20;

/// Takes memory from the system, which promises more than it has, and then ends a process, perhaps
/// another one. Pieces are taken one by one, and before each this looks whether there is enough for
/// all that follow. So processes of a host that take memory at the same time see each other's.
/// @param take takes bytes [offset, offset + bytes). Throws what it throws, and MemoryShortage:
/// then some pieces are taken. @param root as above.
void take_memory(std::size_t bytes,
                 const std::function<void(std::size_t offset, std::size_t bytes)>& take,
                 const std::filesystem::path& root = "/");

}  // namespace tutti::v0::detail
