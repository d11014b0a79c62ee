/// @file
/// Meeting in a folder: rank 0 writes a note with its addresses and the secret of the job, and the
/// others connect to its store.
#pragma once

#include <optional>
#include <string>

#include "folder.hpp"
#include "store.hpp"

namespace tutti::runtime {

/// @return the path in a URL such as "file:///tmp/job". Throws Error{invalid_argument}.
[[nodiscard]] std::string path_of_url(const std::string& url);

/// Rank 0 chooses its addresses, and generates a secret if the job has none. The others wait for
/// the note of a live rank 0, and read them from it. Throws Error{timeout} without such a note,
/// Error{transport} if others can open the folder, Error{mismatch} if the note has another version.
/// @param options with a folder; gets the addresses and the secret.
void meet_in_folder(StoreOptions& options, Deadline deadline);

/// The note of a listening rank 0. A lock shows that its writer is alive, so that the note of a
/// killed one is recognised. Another world can use the folder once the note is removed.
class FolderNote {
 public:
  /// Writes the note. @param options of rank 0. Throws Error{mismatch} if another live rank 0 has a
  /// note there, Error{transport}.
  FolderNote(const StoreOptions& options, Deadline deadline);
  FolderNote(const FolderNote&) = delete;
  FolderNote& operator=(const FolderNote&) = delete;
  ~FolderNote() { remove(); }

  /// Removes the note, and the folder if it is empty.
  void remove() noexcept;

 private:
  std::optional<Folder> folder_;  // opened again if it was removed
  Descriptor lock_{};
};

}  // namespace tutti::runtime
