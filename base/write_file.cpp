#include "base/write_file.hpp"

#include <cerrno>
#include <ctime>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <tutti/error.hpp>

namespace tutti::v0::detail {
namespace {

sigset_t file_size_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

bool is_pending() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  return sigismember(&pending, SIGXFSZ) == 1;
}

}  // namespace

FileSizeSignalBlocked::FileSizeSignalBlocked() noexcept {
  const sigset_t set = file_size_signal();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  was_pending_ = is_pending();
}

FileSizeSignalBlocked::~FileSizeSignalBlocked() {
  const int error = errno;
  const sigset_t set = file_size_signal();
  const timespec at_once{};
  if (!was_pending_ && is_pending()) sigtimedwait(&set, nullptr, &at_once);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

std::string text_of_write_error(int error) {
  const std::string text = std::generic_category().message(error);
  rlimit limit{};
  if (error != EFBIG || ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return text;
  return text + ": `ulimit -f` allows files of " + std::to_string(limit.rlim_cur) +
         " bytes, shared memory included; raise it";
}

bool write_all(int file, std::string_view bytes) noexcept {
  const FileSizeSignalBlocked blocked;
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void write_text_file(const std::string& path, std::string_view text, std::string_view prefix) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const bool is_written = file >= 0 && write_all(file, text);
  int error = is_written ? 0 : errno;
  if (file >= 0 && ::close(file) != 0 && is_written) error = errno;
  if (error != 0)
    throw Error{ErrorCode::transport,
                std::string{prefix} + "cannot write '" + path + "': " + text_of_write_error(error)};
}

}  // namespace tutti::v0::detail
