/// @file
/// Progress of the MPI while a thread waits for something else.
#pragma once

#include <sys/types.h>

#include <functional>

#include <tutti/init.hpp>

namespace tutti::v0::mpi {

/// Makes the MPI go on, whatever it has under way, and disturbs none of its messages. Does nothing
/// once the MPI is finalised, nor in a thread or a forked child that may not call it.
class MpiProgress {
 public:
  /// @param others what is called as well, or nothing.
  explicit MpiProgress(std::function<void()> others);
  /// Makes progress once. Throws what the others throw.
  void operator()() const;

 private:
  std::function<void()> others_;
  bool is_for_main_thread_;  // whether no other one may call the MPI
  pid_t process_;            // that may
  int self_;                 // in MPI_COMM_WORLD
  int tag_;
};

/// @param options of a world whose ranks came from the MPI. @return them, with its progress.
[[nodiscard]] InitOptions with_progress(InitOptions options);

}  // namespace tutti::v0::mpi
