// Collectives that are prepared once, and started several times.
#include <dlfcn.h>

#include <array>

#include "world.hpp"

namespace program {

namespace {

constexpr int kStarts = 5;
constexpr int kCount = 300;

// Prepares a call by a function that headers of MPI 3 lack.
template <class... A>
void prepare(const char* name, A... arguments) {
  call(dlsym(RTLD_DEFAULT, name), arguments...);
}

void start_and_wait(MPI_Request& request) {
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (request == MPI_REQUEST_NULL) ++wrong;  // it stays, and is inactive
}

void sums(const World& world) {
  std::array<long, kCount> mine{}, all{};
  MPI_Request request;
  prepare("MPI_Allreduce_init", mine.data(), all.data(), kCount, MPI_LONG, MPI_SUM, world.comm,
          MPI_INFO_NULL, &request);
  for (int start = 0; start < kStarts; ++start) {
    mine.fill(world.rank + start);
    start_and_wait(request);
    const long sum = world.size * (world.size - 1) / 2 + world.size * start;
    for (const long number : all) wrong += number != sum;
  }
  MPI_Request_free(&request);
}

// Every second long, of a type that is freed before the first start.
void parts(const World& world) {
  std::array<long, 2 * kCount> data{};
  MPI_Datatype type;
  MPI_Type_vector(kCount, 1, 2, MPI_LONG, &type);
  MPI_Type_commit(&type);
  MPI_Request request;
  prepare("MPI_Bcast_init", data.data(), 1, type, 0, world.comm, MPI_INFO_NULL, &request);
  MPI_Type_free(&type);
  for (int start = 0; start < kStarts; ++start) {
    data.fill(world.rank == 0 ? start + 1 : -1);
    start_and_wait(request);
    for (std::size_t i = 0; i < data.size(); ++i)
      wrong += data[i] != (world.rank == 0 || i % 2 == 0 ? start + 1 : -1);
  }
  MPI_Request_free(&request);
}

// Together with a message of the same process, and with a call that only starts between.
void together(const World& world) {
  int sent = 0, got = 0;
  long mine = 0, sum = 0, other = 0;
  std::array<MPI_Request, 3> all{};
  MPI_Send_init(&sent, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &all[0]);
  MPI_Recv_init(&got, 1, MPI_INT, 0, 8, MPI_COMM_SELF, &all[1]);
  prepare("MPI_Reduce_scatter_block_init", &mine, &sum, 0, MPI_LONG, MPI_SUM, world.comm,
          MPI_INFO_NULL, &all[2]);
  MPI_Request barrier;
  prepare("MPI_Barrier_init", world.comm, MPI_INFO_NULL, &barrier);
  for (int start = 0; start < kStarts; ++start) {
    sent = start;
    MPI_Startall(3, all.data());
    MPI_Start(&barrier);
    MPI_Request request;
    MPI_Iallreduce(&mine, &other, 1, MPI_LONG, MPI_MAX, world.comm, &request);
    MPI_Waitall(3, all.data(), MPI_STATUSES_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    wrong += got != start;
  }
  for (MPI_Request& request : all) MPI_Request_free(&request);
  MPI_Request_free(&barrier);
}

}  // namespace

void start_prepared(const World& world) {
  if (dlsym(RTLD_DEFAULT, "MPI_Allreduce_init") == nullptr) return;
  sums(world);
  parts(world);
  together(world);
}

}  // namespace program
