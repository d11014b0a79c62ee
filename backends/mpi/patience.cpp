#include "patience.hpp"

#include <sched.h>

#include <string>

#include "check.hpp"
#include "ranks.hpp"

namespace tutti::v0::mpi {

void finish(MPI_Request& request, Duration deadline, const char* action) {
  // Tests before the first yield, so that ranks that come at the same time do not yield.
  constexpr int kSpins = 200;
  int done = 0;
  for (int tests = 0;; ++tests) {
    check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), action);
    if (done != 0) return;
    if (tests < kSpins) continue;
    if (time_now() > deadline)
      throw Error{ErrorCode::timeout, std::string{"cannot "} + action +
                                          " within the timeout: making a communicator is "
                                          "collective, and a rank has not taken part"};
    sched_yield();
  }
}

}  // namespace tutti::v0::mpi
