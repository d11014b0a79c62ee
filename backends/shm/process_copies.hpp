/// @file
/// Copies by the system from the memory of other processes.
#pragma once

#include <tutti/spi/pieces.hpp>

#include "directory.hpp"

namespace tutti::shm {

/// The own process as others read it: its number, and the proof that it is this one.
class ReadableProcess {
 public:
  ReadableProcess() noexcept;
  ReadableProcess(const ReadableProcess&) = delete;
  ReadableProcess& operator=(const ReadableProcess&) = delete;
  /// @return what others need; its id is 0 if the system copies slowly or not at all, so that they
  /// better read what this process copies to shared memory. The time of copies decides that.
  [[nodiscard]] Process published() const noexcept;

 private:
  std::uint64_t proof_ = 0;  // 0: not to be read
};

/// Reads memory of a process. @param from the process, perhaps wrong. @param where the address
/// there.
/// @param bytes number of them, at most the rest of `to`. @return whether all have come from the
/// process that published the proof; if not, the bytes at `to` are undefined.
[[nodiscard]] bool read_process(const Process& from, std::uint64_t where, Cursor to,
                                std::uint64_t bytes) noexcept;

}  // namespace tutti::shm
