#include "mapping.hpp"

#include <array>
#include <new>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

namespace tutti::standin {
namespace {

std::string name_of(std::uint64_t nonce) {
  return "tutti-standin-" + std::to_string(nonce);
}

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) throw std::bad_alloc{};
  return number;
}

int make_file(const std::string& name, std::size_t bytes) {
  const int file = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (file < 0) throw std::bad_alloc{};
  if (ftruncate(file, static_cast<off_t>(bytes)) == 0) return file;
  close(file);
  throw std::bad_alloc{};
}

// Less than zero if that is another file, or none.
int open_file(const std::string& path, const std::string& name) {
  std::array<char, 128> target{};
  const ssize_t length = readlink(path.c_str(), target.data(), target.size());
  if (length <= 0) return -1;
  const std::string_view found{target.data(), static_cast<std::size_t>(length)};
  return found == "/memfd:" + name + " (deleted)" ? open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
}

std::byte* map(const SharedFile& file, std::size_t offset, std::size_t bytes) {
  void* const start =
      mmap(nullptr, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw std::bad_alloc{};
  auto* const mapping = static_cast<std::byte*>(start);
  void* const alias = mmap(mapping + bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                           file.file(), static_cast<off_t>(offset));
  if (alias != MAP_FAILED) return mapping;
  munmap(start, 2 * bytes);
  throw std::bad_alloc{};
}

}  // namespace

SharedFile::SharedFile(std::size_t bytes)
    : nonce_{random_number()}, file_{make_file(name_of(nonce_), bytes)} {}

SharedFile::SharedFile(int process, int file, std::uint64_t nonce)
    : nonce_{nonce}, file_{open_file(
                         "/proc/" + std::to_string(process) + "/fd/" + std::to_string(file),
                         name_of(nonce))} {}

SharedFile::~SharedFile() {
  if (file_ >= 0) close(file_);
}

void SharedFile::drop(std::size_t offset, std::size_t bytes) const {
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
            static_cast<off_t>(bytes));
}

Mapping::Mapping(const SharedFile& file, std::size_t offset, std::size_t bytes)
    : bytes_{bytes}, start_{map(file, offset, bytes)} {}

Mapping::~Mapping() {
  munmap(start_, 2 * bytes_);
}

std::size_t page_bytes() noexcept {
  return static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace tutti::standin
