/// @file
/// Progress of the MPI while a thread waits for something else.
#pragma once

#include <sys/types.h>

#include <functional>

#include <tutti/init.hpp>

namespace tutti::v0::mpi {

/// Lets the MPI advance all its operations, and receives none of its messages. It does nothing once
/// the MPI is finalised, nor in a thread or a forked child that may not call the MPI.
class MpiProgress {
 public:
  /// @param others a function that is called too, or nothing.
  explicit MpiProgress(std::function<void()> others);
  /// Makes progress once. Throws as that function.
  void operator()() const;

 private:
  std::function<void()> others_;
  bool is_for_main_thread_;  // whether only the main thread may call the MPI
  pid_t process_;            // the process that may call the MPI
  int self_;                 // rank in MPI_COMM_WORLD
  int tag_;
};

/// @param options of a world that got its ranks from the MPI. @return options with MpiProgress.
[[nodiscard]] InitOptions with_progress(InitOptions options);

}  // namespace tutti::v0::mpi
