#include <tutti/spi/eventfd.hpp>

#include <cerrno>
#include <cstdint>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <tutti/error.hpp>

namespace tutti::v0 {

void check_eventfd(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && (flags & O_NONBLOCK) != 0) return;
  throw Error{ErrorCode::invalid_argument,
              "descriptor " + std::to_string(descriptor) +
                  (flags < 0 ? " is not open" : " is read-only, or its writes may block") +
                  "; pass an eventfd that was made with EFD_NONBLOCK"};
}

void signal_eventfd(int descriptor) noexcept {
  const std::uint64_t one = 1;
  while (write(descriptor, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

}  // namespace tutti::v0
