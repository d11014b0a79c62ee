#include "checkpoint_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/write_file.hpp"

namespace tutti::v0::detail {
namespace {

/// System calls move at most 2 GiB.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

/// Repeats a system call until no signal interrupts it. @return its result.
template <class SystemCall>
auto without_signals(SystemCall call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

CheckpointFile::CheckpointFile(std::filesystem::path path, bool is_new) : path_{std::move(path)} {
  constexpr int kRead = O_RDONLY | O_NONBLOCK;  // no wait for the writer of a named pipe
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
  file_ = without_signals(
      [&] { return ::open(path_.c_str(), (is_new ? kWrite : kRead) | O_CLOEXEC, 0666); });
  if (file_ < 0) fail("open");
}

CheckpointFile::~CheckpointFile() {
  ::close(file_);
}

void CheckpointFile::fail(const char* what) const {
  const int code = errno;
  throw Error{ErrorCode::transport, std::string{"checkpoint: cannot "} + what + " '" +
                                        path_.string() + "': " + text_of_write_error(code)};
}

void CheckpointFile::reject(const std::string& why) const {
  throw Error{ErrorCode::invalid_argument, "checkpoint: '" + path_.string() + "' " + why};
}

void CheckpointFile::write(std::span<const std::byte> bytes) {
  constexpr std::array<std::byte, 8> kZeros{};
  hash_ = hash_of(bytes, hash_);
  for (auto part : {bytes, std::span{kZeros}.first(filled(bytes.size()) - bytes.size())})
    if (!write_all(file_, {reinterpret_cast<const char*>(part.data()), part.size()})) fail("write");
}

void CheckpointFile::finish() {
  const std::uint64_t hash = hash_;
  write(std::as_bytes(std::span{&hash, 1}));
  sync();
}

void CheckpointFile::read(std::span<std::byte> bytes) {
  std::array<std::byte, 8> zeros{};
  for (auto part : {bytes, std::span{zeros}.first(filled(bytes.size()) - bytes.size())})
    while (!part.empty()) {
      const auto count = without_signals(
          [&] { return ::read(file_, part.data(), std::min(part.size(), kMostBytes)); });
      if (count < 0) fail("read");
      if (count == 0) reject("is cut short");
      part = part.subspan(static_cast<std::size_t>(count));
    }
  hash_ = hash_of(bytes, hash_);
}

void CheckpointFile::check_header(const CheckpointHeader& header, std::uint64_t bytes) const {
  const CheckpointHeader expected;
  if (header.magic != expected.magic) reject("is no checkpoint of tutti");
  if (header.byte_order != expected.byte_order)
    reject("is of a machine of another byte order, or was changed");
  if (header.version != expected.version)
    reject("is of version " + std::to_string(header.version) + ", expected " +
           std::to_string(expected.version));
  if (bytes < header.file_bytes)
    reject("is cut short: it has " + std::to_string(bytes) + " of " +
           std::to_string(header.file_bytes) + " bytes");
  const std::uint64_t free = bytes < kFixedBytes ? 0 : bytes - kFixedBytes;
  if (bytes != header.file_bytes || bytes < kFixedBytes || header.table_bytes > free ||
      header.extra_bytes > free - header.table_bytes)
    reject("was changed: its sizes are not those of its header");
}

CheckpointHeader CheckpointFile::check() {
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail("read");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  CheckpointHeader header;
  if (bytes < sizeof header) reject("is cut short");
  read(std::as_writable_bytes(std::span{&header, 1}));
  check_header(header, bytes);
  std::vector<std::byte> block(std::size_t{1} << 20);
  for (std::uint64_t left = bytes - kFixedBytes; left > 0;) {
    const std::size_t count = std::min<std::uint64_t>(left, block.size());
    read(std::span{block}.first(count));
    left -= count;
  }
  checked_ = hash_;
  std::uint64_t written = 0;
  read(std::as_writable_bytes(std::span{&written, 1}));
  if (written != checked_) reject("was changed: its hash is not that written");
  if (::lseek(file_, 0, SEEK_SET) != 0) fail("read");
  hash_ = hash_of({});
  read(std::as_writable_bytes(std::span{&header, 1}));
  return header;
}

void CheckpointFile::check_again() const {
  if (hash_ != checked_) reject("was changed while it was read");
}

void CheckpointFile::sync() {
  if (without_signals([&] { return ::fsync(file_); }) != 0) fail("store");
}

}  // namespace tutti::v0::detail
