/// @file
/// Ranks that meet in a folder: rank 0 leaves a note there of where it listens, with the secret of
/// the job, and the others come to its store.
#pragma once

#include <optional>
#include <string>

#include "folder.hpp"
#include "store.hpp"

namespace tutti::runtime {

/// @param url such as "file:///tmp/job". @return its path. Throws Error{invalid_argument}.
[[nodiscard]] std::string path_of_url(const std::string& url);

/// Rank 0 chooses where to listen, and draws a secret where the job has none. The others wait for
/// the note of a rank 0 that lives, and read these from it. Throws Error{timeout} where there is
/// none, Error{transport} where the folder is open to others, Error{mismatch} where the note is of
/// another version.
/// @param options with a folder; gets the rest. @param deadline at which to give up.
void meet_in_folder(StoreOptions& options, Deadline deadline);

/// The note of a rank 0 that listens. It is held (locked) as long as its writer lives, so that what
/// a killed one left is told from it. Another world can use the folder once the note is removed.
class FolderNote {
 public:
  /// Leaves the note. @param options of rank 0, which listens there. @param deadline at which to
  /// give up. Throws Error{mismatch} where another rank 0 that lives has left one,
  /// Error{transport}.
  FolderNote(const StoreOptions& options, Deadline deadline);
  FolderNote(const FolderNote&) = delete;
  FolderNote& operator=(const FolderNote&) = delete;
  ~FolderNote() { remove(); }

  /// Takes it away, and the folder if nothing else is in it.
  void remove() noexcept;

 private:
  std::optional<Folder> folder_;  // made again where it was removed
  Descriptor held_{};
};

}  // namespace tutti::runtime
