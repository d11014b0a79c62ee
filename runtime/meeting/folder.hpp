/// @file
/// Folder: a directory that belongs to this user alone, for notes between ranks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/sockets/socket.hpp"

namespace tutti::runtime {

/// Notes appear as a whole. All operations use the opened directory, even if its path changes.
class Folder {
 public:
  /// Opens the directory, or creates it. Throws Error{transport} if that fails, or if another user
  /// could read or write in it. @param path absolute.
  explicit Folder(const std::string& path);
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  /// @return whether the directory has been removed.
  [[nodiscard]] bool is_gone() const noexcept;
  /// @return the text of a note, or nothing if it does not exist. Throws Error{transport}.
  [[nodiscard]] std::optional<std::string> read(const std::string& name) const;
  /// Creates a note with a new name, and locks it. The lock shows that its writer is alive: it
  /// lasts as long as the descriptor, which the end of the process closes. @return nothing if the
  /// note exists, or the directory is removed. Throws Error{transport}.
  [[nodiscard]] Descriptor create_locked(const std::string& name, std::string_view text);
  /// @return whether a process has locked a note; false if the file system has no locks.
  [[nodiscard]] bool is_locked(const std::string& name) const noexcept;
  /// @return whether the file system has locks.
  [[nodiscard]] bool has_locks() const noexcept;
  /// Removes unfinished notes of killed writers.
  void remove_drafts() noexcept;
  /// @return whether the note existed.
  bool remove(const std::string& name) noexcept;
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

/// @return 32 unpredictable hexadecimal digits. Throws Error{transport}.
[[nodiscard]] std::string random_name();

}  // namespace tutti::runtime
