#include "base/text_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <tutti/error.hpp>

namespace tutti::v0::detail {
namespace {

[[noreturn]] void reject_file(const std::string& path, const std::string& why) {
  throw Error{ErrorCode::invalid_argument, path + ": " + why};
}

[[noreturn]] void reject_error(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) reject_file(path, "no such file");
  if (error == EISDIR) reject_file(path, "it is a folder");
  reject_file(path, std::string{"it cannot be read: "} + std::strerror(error));
}

class OpenFile {
 public:
  // Opening a named pipe without O_NONBLOCK would wait for a writer.
  explicit OpenFile(const std::string& path)
      : descriptor_{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {
    if (descriptor_ < 0) reject_error(path, errno);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(descriptor_); }

  /// @return the number of bytes read, 0 at the end, or -1 with errno.
  [[nodiscard]] ssize_t read(char* data, std::size_t bytes) const {
    for (;;) {
      const ssize_t count = ::read(descriptor_, data, bytes);
      if (count >= 0 || (errno != EINTR && errno != EAGAIN)) return count;
      pollfd readable{.fd = descriptor_, .events = POLLIN, .revents = 0};
      if (errno == EAGAIN) ::poll(&readable, 1, -1);  // the writer of a pipe is slower
    }
  }

 private:
  int descriptor_;
};

}  // namespace

std::string read_text_file(const std::string& path) {
  constexpr std::size_t kFirstBytes = std::size_t{1} << 16U;
  const OpenFile file{path};
  std::string text;
  std::size_t length = 0;
  for (;;) {
    if (length == text.size()) text.resize(std::clamp(2 * length, kFirstBytes, kMostFileBytes + 1));
    const ssize_t count = file.read(text.data() + length, text.size() - length);
    if (count < 0) reject_error(path, errno);
    length += static_cast<std::size_t>(count);
    if (length > kMostFileBytes)
      reject_file(path, "it has more than " + std::to_string(kMostFileBytes >> 20U) +
                            " MiB, the most that is read");
    if (count > 0) continue;
    text.resize(length);
    return text;
  }
}

}  // namespace tutti::v0::detail
