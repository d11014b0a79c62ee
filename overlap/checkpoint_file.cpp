#include "checkpoint_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace tutti::inline v0::detail {
namespace {

/// System calls move at most 2 GiB.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

[[noreturn]] void fail_with_errno(const char* what, const std::filesystem::path& path) {
  const int code = errno;
  throw Error{ErrorCode::transport, std::string{"checkpoint: cannot "} + what + " '" +
                                        path.string() +
                                        "': " + std::generic_category().message(code)};
}

/// @param call a system call. @return what it returned when no signal interrupted it.
template <class SystemCall>
auto without_signals(SystemCall call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

CheckpointFile::CheckpointFile(std::filesystem::path path, bool is_new) : path_{std::move(path)} {
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
  file_ = without_signals(
      [&] { return ::open(path_.c_str(), (is_new ? kWrite : O_RDONLY) | O_CLOEXEC, 0666); });
  if (file_ < 0) fail("open");
}

CheckpointFile::~CheckpointFile() {
  ::close(file_);
}

void CheckpointFile::fail(const char* what) const {
  fail_with_errno(what, path_);
}

void CheckpointFile::write(std::span<const std::byte> bytes) {
  constexpr std::array<std::byte, 8> kZeros{};
  hash_ = hash_of(bytes, hash_);
  for (auto part : {bytes, std::span{kZeros}.first(filled(bytes.size()) - bytes.size())})
    while (!part.empty()) {
      const auto count = without_signals(
          [&] { return ::write(file_, part.data(), std::min(part.size(), kMostBytes)); });
      if (count < 0) fail("write");
      part = part.subspan(static_cast<std::size_t>(count));
    }
}

void CheckpointFile::finish() {
  const std::uint64_t hash = hash_;
  write(std::as_bytes(std::span{&hash, 1}));
  if (without_signals([&] { return ::fsync(file_); }) != 0) fail("store");
}

void CheckpointFile::read(std::span<std::byte> bytes) {
  std::array<std::byte, 8> zeros{};
  for (auto part : {bytes, std::span{zeros}.first(filled(bytes.size()) - bytes.size())})
    while (!part.empty()) {
      const auto count = without_signals(
          [&] { return ::read(file_, part.data(), std::min(part.size(), kMostBytes)); });
      if (count < 0) fail("read");
      if (count == 0)
        throw Error{ErrorCode::invalid_argument,
                    "checkpoint: '" + path_.string() + "' is cut short"};
      part = part.subspan(static_cast<std::size_t>(count));
    }
  hash_ = hash_of(bytes, hash_);
}

void CheckpointFile::rewind() {
  hash_ = hash_of({});
  if (::lseek(file_, 0, SEEK_SET) != 0) fail("read");
}

std::uint64_t CheckpointFile::size() const {
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail("read");
  return static_cast<std::uint64_t>(status.st_size);
}

void sync_folder(const std::filesystem::path& folder) {
  const int file =
      without_signals([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (file < 0) fail_with_errno("open", folder);
  const int outcome = without_signals([&] { return ::fsync(file); });
  const int code = errno;
  ::close(file);
  errno = code;
  if (outcome != 0) fail_with_errno("store", folder);
}

}  // namespace tutti::inline v0::detail
