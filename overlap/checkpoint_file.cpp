#include "checkpoint_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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

void StreamHash::add_word(std::uint64_t word) noexcept {
  hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15;
  hash_ ^= hash_ >> 32;
}

void StreamHash::add(std::span<const std::byte> bytes) noexcept {
  std::uint64_t word = 0;
  std::size_t filled = total_ % rest_.size();
  total_ += bytes.size();
  while (!bytes.empty()) {
    if (filled == 0 && bytes.size() >= sizeof word) {
      std::memcpy(&word, bytes.data(), sizeof word);
      bytes = bytes.subspan(sizeof word);
      add_word(word);
      continue;
    }
    rest_[filled++] = bytes.front();
    bytes = bytes.subspan(1);
    if (filled < rest_.size()) continue;
    std::memcpy(&word, rest_.data(), sizeof word);
    add_word(word);
    filled = 0;
  }
}

std::uint64_t StreamHash::value() const noexcept {
  StreamHash whole = *this;
  std::uint64_t word = 0;
  std::memcpy(&word, rest_.data(), total_ % rest_.size());
  whole.add_word(word);
  whole.add_word(total_);
  return whole.hash_;
}

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
  hash_.add(bytes);
  while (!bytes.empty()) {
    const auto count = without_signals(
        [&] { return ::write(file_, bytes.data(), std::min(bytes.size(), kMostBytes)); });
    if (count < 0) fail("write");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void CheckpointFile::finish() {
  const std::uint64_t hash = hash_.value();
  write(std::as_bytes(std::span{&hash, 1}));
  if (without_signals([&] { return ::fsync(file_); }) != 0) fail("store");
}

void CheckpointFile::read(std::span<std::byte> bytes) {
  const std::span<const std::byte> all = bytes;
  while (!bytes.empty()) {
    const auto count = without_signals(
        [&] { return ::read(file_, bytes.data(), std::min(bytes.size(), kMostBytes)); });
    if (count < 0) fail("read");
    if (count == 0)
      throw Error{ErrorCode::invalid_argument, "checkpoint: '" + path_.string() + "' is cut short"};
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  hash_.add(all);
}

void CheckpointFile::rewind() {
  hash_ = {};
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

std::vector<ArrayEntry> entries_of(std::span<const Parameter> arrays) {
  std::vector<ArrayEntry> entries;
  for (const Parameter& array : arrays) entries.push_back({array.name, array.type, array.count});
  return entries;
}

std::vector<std::byte> table_of(std::span<const ArrayEntry> entries) {
  std::vector<std::byte> table;
  for (const ArrayEntry& entry : entries) {
    const std::array<std::uint64_t, 3> numbers{entry.name.size(),
                                               static_cast<std::uint64_t>(entry.type), entry.count};
    const auto first = std::as_bytes(std::span{numbers});
    const auto name = std::as_bytes(std::span{entry.name});
    table.insert(table.end(), first.begin(), first.end());
    table.insert(table.end(), name.begin(), name.end());
  }
  return table;
}

std::vector<ArrayEntry> entries_of(std::span<const std::byte> table) {
  std::vector<ArrayEntry> entries;
  while (!table.empty()) {
    std::array<std::uint64_t, 3> numbers{};
    const bool has_numbers = table.size() >= sizeof numbers;
    if (has_numbers) std::memcpy(numbers.data(), table.data(), sizeof numbers);
    if (!has_numbers || numbers[0] > table.size() - sizeof numbers || numbers[1] >= kDatatypes)
      throw Error{ErrorCode::invalid_argument, "checkpoint: the table of arrays makes no sense"};
    table = table.subspan(sizeof numbers);
    std::string name(numbers[0], '\0');
    std::ranges::transform(table.first(numbers[0]), name.begin(),
                           [](std::byte b) { return static_cast<char>(b); });
    table = table.subspan(numbers[0]);
    entries.push_back({std::move(name), static_cast<Datatype>(numbers[1]), numbers[2]});
  }
  return entries;
}

}  // namespace tutti::inline v0::detail
