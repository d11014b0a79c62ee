#include "progress.hpp"

#include <unistd.h>

#include <utility>

#include "check.hpp"
#include "ranks.hpp"

namespace tutti::v0::mpi {
namespace {

bool is_for_main_thread() {
  int level = MPI_THREAD_SINGLE;
  check(PMPI_Query_thread(&level), "find its level of thread support");
  return level < MPI_THREAD_SERIALIZED;
}

int rank_in_world() {
  int rank = 0;
  check(PMPI_Comm_rank(MPI_COMM_WORLD, &rank), "find the own rank");
  return rank;
}

}  // namespace

MpiProgress::MpiProgress(std::function<void()> others)
    : others_{std::move(others)}, is_for_main_thread_{is_for_main_thread()}, process_{getpid()},
      self_{rank_in_world()}, tag_{largest_tag()} {}

// MPIs make progress in a probe that finds nothing, but MPICH makes none in a probe of
// MPI_COMM_SELF. So this one probes MPI_COMM_WORLD for a message that no rank sends: from this rank
// to itself, with the largest tag. The result of the probe does not matter: a call that waits for a
// failed operation gets the error. But the error handler of MPI_COMM_WORLD gets it first. If errors
// are fatal, which is the default, an error that the MPI finds here ends the program, as it would
// in a call of the program's own.
void MpiProgress::operator()() const {
  if (others_) others_();
  if (getpid() != process_) return;
  int flag = 0;
  if (PMPI_Finalized(&flag) != MPI_SUCCESS || flag != 0) return;
  if (is_for_main_thread_ && (PMPI_Is_thread_main(&flag) != MPI_SUCCESS || flag == 0)) return;
  PMPI_Iprobe(self_, tag_, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

InitOptions with_progress(InitOptions options) {
  options.communicator.progress = MpiProgress{std::move(options.communicator.progress)};
  return options;
}

}  // namespace tutti::v0::mpi
