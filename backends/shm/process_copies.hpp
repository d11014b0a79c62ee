/// @file
/// Copies by the system from the memory of other processes, and into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/types.h>

namespace tutti::shm {

/// The system copies by one instruction, which on AMD processors takes ten times as long if the
/// destination lies 1 to 31 bytes behind the source, modulo 4096 (see copy_bytes). Between such
/// addresses bytes go through memory of this class at an address for which the system is quick.
class ProcessCopies {
 public:
  /// Reads. @param process whose memory. @param where the bytes are there. @param to where they go.
  /// @return as process_vm_readv, which sets errno.
  ssize_t read(pid_t process, std::uint64_t where, std::byte* to, std::size_t bytes);
  /// Reads for a first look. @param process whose memory. @param where the bytes are there.
  /// @param bytes how many at most. @param to is set to where they are until the next call.
  /// @return as read.
  ssize_t read_here(pid_t process, std::uint64_t where, std::size_t bytes, std::byte*& to);
  /// Writes. @param process whose memory. @param where the bytes go there. @param from where they
  /// are. @return as process_vm_writev, which sets errno.
  ssize_t write(pid_t process, std::uint64_t where, const std::byte* from, std::size_t bytes);

 private:
  // Memory at the same distance from a page as an address.
  std::byte* room_for(std::uint64_t address);

  std::vector<std::byte> room_{};
};

}  // namespace tutti::shm
