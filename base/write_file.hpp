/// @file
/// Files that are written, within `ulimit -f`.
#pragma once

#include <csignal>
#include <string>
#include <string_view>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// While it lives, a call of this thread that would make a file longer than `ulimit -f` allows
/// fails with EFBIG. Without it the call would also send SIGXFSZ, which ends the process.
class TUTTI_API FileSizeSignalBlocked {
 public:
  FileSizeSignalBlocked() noexcept;
  FileSizeSignalBlocked(const FileSizeSignalBlocked&) = delete;
  FileSizeSignalBlocked& operator=(const FileSizeSignalBlocked&) = delete;
  /// Discards the signal, unless it was pending before. Keeps errno.
  ~FileSizeSignalBlocked();

 private:
  sigset_t before_{};
  bool was_pending_ = false;
};

/// @param error an errno of a call that makes files longer. @return its text, which names
/// `ulimit -f` where that is the cause.
[[nodiscard]] TUTTI_API std::string text_of_write_error(int error);

/// Writes all bytes to an open file. @return whether it could; otherwise errno has the reason.
[[nodiscard]] TUTTI_API bool write_all(int file, std::string_view bytes) noexcept;

/// Replaces the contents of a file, or makes one. Throws Error{transport}: `prefix`, "cannot write
/// 'path': ", and the reason.
void write_text_file(const std::string& path, std::string_view text,
                     std::string_view prefix = {});

}  // namespace tutti::v0::detail
