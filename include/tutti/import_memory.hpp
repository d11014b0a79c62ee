/// @file
/// Memory of the program that the ranks of a host see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tutti/buffer.hpp>
#include <tutti/export.hpp>

namespace tutti::v0 {

class Communicator;

/// A file, such as a memfd or one in /dev/shm, and memory to which the program has mapped it.
struct MappedFile {
  int descriptor = -1;            ///< Open for reading and writing.
  std::uint64_t offset = 0;       ///< The memory's first byte in the file: a multiple of the page.
  std::span<std::byte> memory{};  ///< Begins at a page; mapped MAP_SHARED, to read and write.
};

/// Makes memory of the program visible: the ranks of the own host read and write it in place, as
/// that of Communicator::allocate, in calls with Options::visible of any communicator of some of
/// these ranks. Collective: all ranks import memory, or none does, and the communicator stays
/// usable.
///
/// The memory must stay mapped as long as the result lives, and each rank's result must live until
/// all calls on that memory have ended. The file must not become shorter: a rank that reads behind
/// its end dies of SIGBUS.
/// @param file of equally many bytes on all ranks. The descriptor is not used after the call.
/// @return the memory, unchanged. Without shared memory between ranks it is not visible.
/// Throws the same Error on all ranks: invalid_argument for wrong arguments, and transport if
/// the system refuses.
[[nodiscard]] TUTTI_API Buffer<std::byte> import_memory(Communicator& world,
                                                        const MappedFile& file);

}  // namespace tutti::v0
