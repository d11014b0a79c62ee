// The ways in which a program waits for a call that it has started.
#include <array>

#include "world.hpp"

namespace program {
namespace {

void by_tests(MPI_Request request) {
  int done = 0;
  MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
  done = 0;
  while (done == 0) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  if (request != MPI_REQUEST_NULL) ++wrong;
}

// Among a prepared message that is not started, and a receive that ends only after the call.
void by_any(MPI_Request request, bool some) {
  int mine = 7, other = 0;
  std::array<MPI_Request, 3> all{MPI_REQUEST_NULL, request, MPI_REQUEST_NULL};
  MPI_Send_init(&mine, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &all[0]);
  MPI_Irecv(&other, 1, MPI_INT, 0, 5, MPI_COMM_SELF, &all[2]);
  std::array<int, 3> indices{};
  int count = 1;
  if (some) MPI_Waitsome(3, all.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
  else MPI_Waitany(3, all.data(), indices.data(), MPI_STATUS_IGNORE);
  if (count != 1 || indices[0] != 1 || all[1] != MPI_REQUEST_NULL) ++wrong;
  MPI_Send(&mine, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
  int done = 0;
  while (done == 0) MPI_Testall(3, all.data(), &done, MPI_STATUSES_IGNORE);
  if (other != mine) ++wrong;
  MPI_Request_free(&all[0]);
}

// The others send only once the call has ended, while rank 0 waits for their messages alone.
void by_messages(const World& world, MPI_Request request) {
  int other = 0;
  for (int rank = 1; world.rank == 0 && rank < world.size; ++rank)
    MPI_Recv(&other, 1, MPI_INT, rank, 9, world.comm, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (world.rank != 0) MPI_Send(&world.rank, 1, MPI_INT, 0, 9, world.comm);
}

// All ranks get a message while the call is pending: its sender may be one that only waits for
// messages.
void send_around(const World& world) {
  int mine = world.rank, other = -1;
  const int next = (world.rank + 1) % world.size,
            before = (world.rank + world.size - 1) % world.size;
  if (world.rank == 0) MPI_Send(&mine, 1, MPI_INT, next, 6, world.comm);
  MPI_Recv(&other, 1, MPI_INT, before, 6, world.comm, MPI_STATUS_IGNORE);
  if (world.rank != 0) MPI_Send(&mine, 1, MPI_INT, next, 6, world.comm);
  if (other != before) ++wrong;
}

}  // namespace

void start_first(const World& world) {
  int sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&world.size, &sum, 1, MPI_INT, MPI_SUM, world.comm, &request);
  send_around(world);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  wrong += sum != world.size * world.size;
}

void free_before_the_end(const World& world) {
  MPI_Comm comm;
  MPI_Comm_dup(world.comm, &comm);
  for (int i = 0; i < 40; ++i) MPI_Barrier(comm);
  std::array<long, 2000> longs{};
  longs.fill(world.rank == 0 ? 5 : -1);
  MPI_Request request;
  MPI_Ibcast(longs.data(), 2000, MPI_LONG, 0, comm, &request);
  MPI_Comm_free(&comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (const long number : longs) wrong += number != 5;
}

void finish(const World& world, MPI_Request request) {
  if (below(2) == 0 && world.size > 1) send_around(world);
  switch (below(6)) {
    case 0: return by_tests(request);
    case 1: return by_any(request, false);
    case 2: return by_any(request, true);
    case 3: MPI_Waitall(1, &request, MPI_STATUSES_IGNORE); return;
    case 4: return by_messages(world, request);
    default: MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

}  // namespace program
