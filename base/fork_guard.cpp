#include <tutti/spi/fork_guard.hpp>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include <sys/mman.h>

#include <tutti/error.hpp>

namespace tutti::v0 {
namespace {

// The system's page is at least as large, and mmap rounds up.
constexpr std::size_t kBytes = 4096;

}  // namespace

ForkGuard::ForkGuard() {
  void* const page =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    throw Error{ErrorCode::transport, std::string{"cannot map a page: "} + std::strerror(errno)};
  if (madvise(page, kBytes, MADV_WIPEONFORK) != 0) {
    const std::string why = std::strerror(errno);
    munmap(page, kBytes);
    throw Error{ErrorCode::transport,
                "the system cannot clear a page in forked children (Linux 4.14 can): " + why};
  }
  page_ = new (page) std::atomic<std::uint32_t>{1};
}

ForkGuard::~ForkGuard() {
  munmap(page_, kBytes);
}

void ForkGuard::reject(const char* object) {
  throw Error{ErrorCode::invalid_argument,
              std::string{object} + " belongs to the process that made it, and this is a child " +
                  "forked from that; make a world of its own, or exec first"};
}

}  // namespace tutti::v0
