/// @file
/// Folder: a directory that belongs to this user alone, in which ranks leave each other notes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/socket.hpp"

namespace tutti::runtime {

/// Notes appear as a whole. All operations stay inside the directory that was
/// opened, whatever happens to its path.
class Folder {
 public:
  /// Opens the directory, and makes it if it is not there. Throws Error{transport} where that
  /// cannot be, and where anybody else could read or write in it.
  /// @param path absolute.
  explicit Folder(const std::string& path);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  /// @return whether the directory has been removed since.
  [[nodiscard]] bool is_gone() const noexcept;
  /// @param name of a note. @return what it says, or nothing if it is not there. Throws
  /// Error{transport}.
  [[nodiscard]] std::optional<std::string> read(const std::string& name) const;
  /// Writes a note of a name that nobody has, and holds it: while the descriptor is open, which
  /// ends with the process, is_held tells that its writer lives.
  /// @param name of the note. @param text what it says. @return nothing if there is such a note, or
  /// the directory is gone. Throws Error{transport}.
  [[nodiscard]] Descriptor claim(const std::string& name, std::string_view text);
  /// @param name of a note. @return whether somebody holds it; false where file systems know no
  /// locks.
  [[nodiscard]] bool is_held(const std::string& name) const noexcept;
  /// @return whether the file system knows locks.
  [[nodiscard]] bool has_locks() const noexcept;
  /// Removes what killed writers have left of notes.
  void remove_drafts() noexcept;
  /// Removes a note. @param name of the note. @return whether it was there.
  bool remove(const std::string& name) noexcept;
  /// Removes the directory if nothing is in it.
  void remove_if_empty() noexcept;

 private:
  struct Draft {
    std::string name{};
    Descriptor file{};
  };
  [[nodiscard]] Draft draft(const std::string& name, std::string_view text);
  [[noreturn]] void reject_draft(const Draft& draft, int error);

  std::string path_;
  int directory_ = -1;
};

/// @return 32 hexadecimal digits that nobody can guess. Throws Error{transport}.
[[nodiscard]] std::string random_name();

}  // namespace tutti::runtime
