#include "folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>

#include <tutti/error.hpp>

#include "base/text_file.hpp"
#include "base/write_file.hpp"
#include "runtime/sockets/descriptors.hpp"

namespace tutti::runtime {

namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

// Creates the directory if it does not exist, and opens it. A process that leaves an earlier world
// may remove it in between; then it is created again.
int open_directory(const std::string& path) {
  for (;;) {
    if (mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
      throw_system_error("cannot make the folder '" + path + "'", errno);
    const int directory = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (directory >= 0) return directory;
    if (errno != ENOENT) throw_system_error("cannot open the folder '" + path + "'", errno);
  }
}

}  // namespace

Folder::Folder(const std::string& path) : path_{path}, directory_{open_directory(path)} {
  struct stat facts {};
  fstat(directory_, &facts);
  if (facts.st_uid == geteuid() && (facts.st_mode & kOthers) == 0) return;
  close(directory_);
  throw Error{ErrorCode::transport, "the folder '" + path +
                                        "' is open to others: its owner must be the user who runs "
                                        "this, and its mode 0700"};
}

Folder::~Folder() {
  close(directory_);
}

bool Folder::is_gone() const noexcept {
  struct stat facts {};
  return fstat(directory_, &facts) != 0 || facts.st_nlink == 0;
}

// Writes a note under a temporary name; without a file if the directory is removed.
Folder::Draft Folder::draft(const std::string& name, std::string_view text) {
  Draft draft{name + "." + random_name() + ".draft", {}};
  draft.file.reset(openat(directory_, draft.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                          S_IRUSR | S_IWUSR));
  if (!draft.file && is_gone()) return draft;
  if (!draft.file || !detail::write_all(draft.file.get(), text)) reject_draft(draft, errno);
  return draft;
}

void Folder::reject_draft(const Draft& draft, int error) {
  remove(draft.name);
  const std::string what = "cannot write in the folder '" + path_ + "'";
  if (error == EFBIG)
    throw Error{ErrorCode::transport, what + ": " + detail::text_of_write_error(error)};
  throw_system_error(what, error);
}

Descriptor Folder::create_locked(const std::string& name, std::string_view text) {
  Draft note = draft(name, text);
  if (!note.file) return {};
  // Without locks in the file system, is_locked is always false.
  static_cast<void>(flock(note.file.get(), LOCK_EX | LOCK_NB));
  const bool is_new = linkat(directory_, note.name.c_str(), directory_, name.c_str(), 0) == 0;
  // Another rank 0 may have removed the draft.
  if (!is_new && errno != EEXIST && errno != ENOENT) reject_draft(note, errno);
  remove(note.name);
  return is_new ? std::move(note.file) : Descriptor{};
}

bool Folder::is_locked(const std::string& name) const noexcept {
  const Descriptor file{openat(directory_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
  return file && flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

std::optional<std::string> Folder::read(const std::string& name) const {
  const Descriptor file{openat(directory_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
  const std::string where = "cannot read '" + name + "' in the folder '" + path_ + "'";
  if (file.get() < 0 && (errno == ENOENT || errno == ESTALE)) return {};
  if (file.get() < 0) throw_system_error(where, errno);
  struct stat facts {};
  fstat(file.get(), &facts);
  if (!S_ISREG(facts.st_mode) || facts.st_uid != geteuid() || (facts.st_mode & kOthers) != 0)
    throw Error{ErrorCode::transport, where + ": it was not written by tutti"};
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t length = ::read(file.get(), part.data(), part.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) throw_system_error(where, errno);
    if (length == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(length));
    if (text.size() > detail::kMostFileBytes)
      throw Error{ErrorCode::transport, where + ": it is longer than any that tutti writes"};
  }
}

bool Folder::has_locks() const noexcept {
  const bool has_lock = flock(directory_, LOCK_SH | LOCK_NB) == 0;
  const bool is_known = has_lock || errno == EWOULDBLOCK;
  if (has_lock) flock(directory_, LOCK_UN);
  return is_known;
}

void Folder::remove_drafts() noexcept {
  // A description of its own, since readdir moves the offset.
  const int copy = openat(directory_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream{fdopendir(copy), closedir};
  while (const dirent* const entry = stream == nullptr ? nullptr : readdir(stream.get()))
    if (const std::string name{entry->d_name}; name.ends_with(".draft") && !is_locked(name))
      remove(name);
}

bool Folder::remove(const std::string& name) noexcept {
  return unlinkat(directory_, name.c_str(), 0) == 0;
}

void Folder::remove_if_empty() noexcept {
  // Another world may have created a folder of the same path; it creates an empty one again.
  rmdir(path_.c_str());
}

std::string random_name() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw_system_error("the kernel gives no random bytes", errno);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name;
  for (const unsigned char byte : bytes) {
    name += kDigits[byte >> 4U];
    name += kDigits[byte & 15U];
  }
  return name;
}

}  // namespace tutti::runtime
