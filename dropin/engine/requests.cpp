#include "dropin/engine/requests.hpp"

#include <mpi.h>

#include <array>
#include <thread>

#include "dropin/engine/pending.hpp"
#include "dropin/engine/persistent.hpp"

namespace tutti::dropin {
namespace {

// Tests until `test` says that it is done. The MPI waits by itself once nothing of tutti's is
// pending.
template <class Test, class Wait>
int wait_by(const Test& test, const Wait& wait) {
  constexpr int kBeforeYield = 200;
  for (int round = 0; has_pending(); ++round) {
    poll();
    bool is_done = false;
    const int code = test(is_done);
    if (code != MPI_SUCCESS || is_done) return code;
    if (round > kBeforeYield) std::this_thread::yield();
  }
  return wait();
}

int wait(MPI_Request* request, MPI_Status* status) {
  return wait_by(
      [&](bool& is_done) {
        int flag = 0;
        const int code = PMPI_Test(request, &flag, status);
        is_done = flag != 0;
        return code;
      },
      [&] { return PMPI_Wait(request, status); });
}

// Looks at one request after the other, since MPICH's PMPI_Testall fails for prepared collectives
// of its own.
int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  int done = 0;
  const auto next_is_done = [&] {
    int flag = 0;
    MPI_Status status;
    const int code = PMPI_Request_get_status(requests[done], &flag, &status);
    return code != MPI_SUCCESS || flag != 0;
  };
  if (requests != nullptr)
    wait_by(
        [&](bool& is_done) {
          while (done < count && next_is_done()) ++done;
          is_done = done >= count;
          return MPI_SUCCESS;
        },
        [] { return MPI_SUCCESS; });
  return PMPI_Waitall(count, requests, statuses);
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  return wait_by(
      [&](bool& is_done) {
        int flag = 0;
        const int code = PMPI_Testany(count, requests, index, &flag, status);
        is_done = flag != 0;
        return code;
      },
      [&] { return PMPI_Waitany(count, requests, index, status); });
}

int waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return wait_by(
      [&](bool& is_done) {
        const int code = PMPI_Testsome(count, requests, done, indices, statuses);
        is_done = *done != 0;  // MPI_UNDEFINED where no request is active
        return code;
      },
      [&] { return PMPI_Waitsome(count, requests, done, indices, statuses); });
}

// A test of the MPI, after pending calls have advanced.
template <auto kTest, class... A>
int test_after_poll(A... arguments) {
  if (has_pending()) poll();
  return kTest(arguments...);
}
template <auto kTest, class... A>
const void* tester(int (*)(A...)) {
  return reinterpret_cast<const void*>(&test_after_poll<kTest, A...>);
}

struct Named {
  std::string_view name;
  const void* function;
};

}  // namespace

const void* find_request_function(std::string_view name) noexcept {
  const std::array functions{
      Named{"Wait", reinterpret_cast<const void*>(&wait)},
      Named{"Waitall", reinterpret_cast<const void*>(&waitall)},
      Named{"Waitany", reinterpret_cast<const void*>(&waitany)},
      Named{"Waitsome", reinterpret_cast<const void*>(&waitsome)},
      Named{"Test", tester<PMPI_Test>(PMPI_Test)},
      Named{"Testall", tester<PMPI_Testall>(PMPI_Testall)},
      Named{"Testany", tester<PMPI_Testany>(PMPI_Testany)},
      Named{"Testsome", tester<PMPI_Testsome>(PMPI_Testsome)},
      Named{"Start", reinterpret_cast<const void*>(&start_prepared)},
      Named{"Startall", reinterpret_cast<const void*>(&start_all_prepared)},
      Named{"Request_free", reinterpret_cast<const void*>(&free_prepared)},
      Named{"Request_get_status", tester<PMPI_Request_get_status>(PMPI_Request_get_status)},
  };
  for (const Named& one : functions)
    if (one.name == name) return one.function;
  return nullptr;
}

}  // namespace tutti::dropin
