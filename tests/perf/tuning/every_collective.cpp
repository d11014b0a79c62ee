// Calls every collective of MPI: what an MPI chooses by a file, it has to find there. Blocking,
// nonblocking and persistent ones, of blocks that differ, of neighbours, and between two groups.
// Then it tells how MPI_Allreduce and MPI_Reduce_scatter_block called an operator on rank 0, for
// vectors of as many bytes as each argument says: "allreduce 64: 2 calls, 32 elements".
// Exits with 1 if a sum is wrong.
#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

namespace {

struct Calls {
  int number = 0;
  int elements = 0;
};
Calls calls;

void add_and_count(void* in, void* inout, int* count, MPI_Datatype*) {
  ++calls.number;
  calls.elements += *count;
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

// Buffers and counts of one communicator: a block of each rank, and where it lies.
struct Blocks {
  explicit Blocks(MPI_Comm any) : comm{any} {
    int is_inter = 0;
    MPI_Comm_test_inter(comm, &is_inter);
    MPI_Comm_rank(comm, &rank);
    is_inter != 0 ? MPI_Comm_remote_size(comm, &size) : MPI_Comm_size(comm, &size);
    const auto n = static_cast<std::size_t>(size);
    int own = 0;
    MPI_Comm_size(comm, &own);
    shares.assign(static_cast<std::size_t>(own), size);
    in.assign(n * (shares.size() + 2), 1);
    out.assign(n * (shares.size() + 2), 0);
    ones.assign(n, 1);
    places.resize(n);
    std::iota(places.begin(), places.end(), 0);
    types.assign(n, MPI_INT);
    for (const int place : places) bytes.push_back(place * static_cast<int>(sizeof(int)));
  }
  MPI_Comm comm;
  int rank = 0;
  int size = 0;
  std::vector<int> in, out, ones, places, bytes;
  std::vector<int> shares;  // of a reduce_scatter; both groups have as many elements
  std::vector<MPI_Datatype> types;
};

void call_blocking(Blocks& b, int root) {
  int* const in = b.in.data();
  int* const out = b.out.data();
  MPI_Barrier(b.comm);
  MPI_Bcast(in, 1, MPI_INT, root, b.comm);
  MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, root, b.comm);
  MPI_Gatherv(in, 1, MPI_INT, out, b.ones.data(), b.places.data(), MPI_INT, root, b.comm);
  MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, root, b.comm);
  MPI_Scatterv(in, b.ones.data(), b.places.data(), MPI_INT, out, 1, MPI_INT, root, b.comm);
  MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, b.comm);
  MPI_Allgatherv(in, 1, MPI_INT, out, b.ones.data(), b.places.data(), MPI_INT, b.comm);
  MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, b.comm);
  MPI_Alltoallv(in, b.ones.data(), b.places.data(), MPI_INT, out, b.ones.data(), b.places.data(),
                MPI_INT, b.comm);
  MPI_Alltoallw(in, b.ones.data(), b.bytes.data(), b.types.data(), out, b.ones.data(),
                b.bytes.data(), b.types.data(), b.comm);
  MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, root, b.comm);
  MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, b.comm);
  MPI_Reduce_scatter_block(in, out, b.size, MPI_INT, MPI_SUM, b.comm);
  MPI_Reduce_scatter(in, out, b.shares.data(), MPI_INT, MPI_SUM, b.comm);
}

void call_nonblocking(Blocks& b, int root) {
  int* const in = b.in.data();
  int* const out = b.out.data();
  MPI_Request request = MPI_REQUEST_NULL;
  const auto wait = [&](int) { MPI_Wait(&request, MPI_STATUS_IGNORE); };
  wait(MPI_Ibarrier(b.comm, &request));
  wait(MPI_Ibcast(in, 1, MPI_INT, root, b.comm, &request));
  wait(MPI_Igather(in, 1, MPI_INT, out, 1, MPI_INT, root, b.comm, &request));
  wait(MPI_Igatherv(in, 1, MPI_INT, out, b.ones.data(), b.places.data(), MPI_INT, root, b.comm,
                    &request));
  wait(MPI_Iscatter(in, 1, MPI_INT, out, 1, MPI_INT, root, b.comm, &request));
  wait(MPI_Iscatterv(in, b.ones.data(), b.places.data(), MPI_INT, out, 1, MPI_INT, root, b.comm,
                     &request));
  wait(MPI_Iallgather(in, 1, MPI_INT, out, 1, MPI_INT, b.comm, &request));
  wait(MPI_Iallgatherv(in, 1, MPI_INT, out, b.ones.data(), b.places.data(), MPI_INT, b.comm,
                       &request));
  wait(MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, b.comm, &request));
  wait(MPI_Ialltoallv(in, b.ones.data(), b.places.data(), MPI_INT, out, b.ones.data(),
                      b.places.data(), MPI_INT, b.comm, &request));
  wait(MPI_Ialltoallw(in, b.ones.data(), b.bytes.data(), b.types.data(), out, b.ones.data(),
                      b.bytes.data(), b.types.data(), b.comm, &request));
  wait(MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, root, b.comm, &request));
  wait(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, b.comm, &request));
  wait(MPI_Ireduce_scatter_block(in, out, b.size, MPI_INT, MPI_SUM, b.comm, &request));
  wait(MPI_Ireduce_scatter(in, out, b.shares.data(), MPI_INT, MPI_SUM, b.comm, &request));
}

// Calls of one group only: scans, calls in place, large ones, and operators of the program.
void call_within(Blocks& b) {
  int* const in = b.in.data();
  int* const out = b.out.data();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype none = MPI_DATATYPE_NULL;
  MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, b.comm);
  MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, b.comm);
  MPI_Iscan(in, out, 1, MPI_INT, MPI_SUM, b.comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Iexscan(in, out, 1, MPI_INT, MPI_SUM, b.comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Alltoall(MPI_IN_PLACE, 0, none, out, 1, MPI_INT, b.comm);
  MPI_Alltoallv(MPI_IN_PLACE, nullptr, nullptr, none, out, b.ones.data(), b.places.data(), MPI_INT,
                b.comm);
  MPI_Alltoallw(MPI_IN_PLACE, nullptr, nullptr, nullptr, out, b.ones.data(), b.bytes.data(),
                b.types.data(), b.comm);
  MPI_Ialltoall(MPI_IN_PLACE, 0, none, out, 1, MPI_INT, b.comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (const int commutes : {0, 1}) {
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(&add_and_count, commutes, &op);
    for (const int count : {1, 8, 100000}) {
      std::vector<int> one(static_cast<std::size_t>(count * b.size), 1);
      std::vector<int> sum = one;
      MPI_Bcast(one.data(), count, MPI_INT, b.size - 1, b.comm);
      MPI_Reduce(one.data(), sum.data(), count, MPI_INT, op, b.size - 1, b.comm);
      MPI_Allreduce(one.data(), sum.data(), count, MPI_INT, op, b.comm);
      if (sum.front() != b.size || sum[static_cast<std::size_t>(count) - 1] != b.size) {
        std::printf("wrong sum of %d elements\n", count);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      MPI_Reduce_scatter_block(one.data(), sum.data(), count, MPI_INT, op, b.comm);
      MPI_Iallreduce(one.data(), sum.data(), count, MPI_INT, op, b.comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Ireduce_scatter_block(one.data(), sum.data(), count, MPI_INT, op, b.comm, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Allreduce(one.data(), sum.data(), count, MPI_INT, MPI_SUM, b.comm);
      MPI_Reduce(one.data(), sum.data(), count, MPI_INT, MPI_SUM, 0, b.comm);
    }
    MPI_Op_free(&op);
  }
}

// On a ring, where each rank has two neighbours.
void call_neighbours() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int periodic = 1;
  MPI_Comm ring = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
  std::array<int, 2> in{1, 1};
  std::array<int, 2> out{};
  const std::array<int, 2> ones{1, 1};
  const std::array<int, 2> places{0, 1};
  const std::array<MPI_Aint, 2> bytes{0, sizeof(int)};
  const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_INT};
  MPI_Request request = MPI_REQUEST_NULL;
  const auto wait = [&](int) { MPI_Wait(&request, MPI_STATUS_IGNORE); };
  MPI_Neighbor_allgather(&in, 1, MPI_INT, &out, 1, MPI_INT, ring);
  MPI_Neighbor_allgatherv(&in, 1, MPI_INT, &out, ones.data(), places.data(), MPI_INT, ring);
  MPI_Neighbor_alltoall(&in, 1, MPI_INT, &out, 1, MPI_INT, ring);
  MPI_Neighbor_alltoallv(&in, ones.data(), places.data(), MPI_INT, &out, ones.data(), places.data(),
                         MPI_INT, ring);
  MPI_Neighbor_alltoallw(&in, ones.data(), bytes.data(), types.data(), &out, ones.data(),
                         bytes.data(), types.data(), ring);
  wait(MPI_Ineighbor_allgather(&in, 1, MPI_INT, &out, 1, MPI_INT, ring, &request));
  wait(MPI_Ineighbor_allgatherv(&in, 1, MPI_INT, &out, ones.data(), places.data(), MPI_INT, ring,
                                &request));
  wait(MPI_Ineighbor_alltoall(&in, 1, MPI_INT, &out, 1, MPI_INT, ring, &request));
  wait(MPI_Ineighbor_alltoallv(&in, ones.data(), places.data(), MPI_INT, &out, ones.data(),
                               places.data(), MPI_INT, ring, &request));
  wait(MPI_Ineighbor_alltoallw(&in, ones.data(), bytes.data(), types.data(), &out, ones.data(),
                               bytes.data(), types.data(), ring, &request));
  MPI_Comm_free(&ring);
}

// Between the first half of the ranks and the others. The root is the first one of the first half.
void call_between_groups(int rank, int size) {
  const bool is_first = rank < (size + 1) / 2;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, is_first ? 0 : 1, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_first ? (size + 1) / 2 : 0, 0, &between);
  Blocks blocks{between};
  const int root = !is_first ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  call_blocking(blocks, root);
  call_nonblocking(blocks, root);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

void call_persistent([[maybe_unused]] Blocks& b) {
#if MPI_VERSION >= 4
  int* const in = b.in.data();
  int* const out = b.out.data();
  std::array<MPI_Request, 4> requests{};
  MPI_Bcast_init(in, 1, MPI_INT, 0, b.comm, MPI_INFO_NULL, &requests[0]);
  MPI_Allreduce_init(in, out, 1, MPI_INT, MPI_SUM, b.comm, MPI_INFO_NULL, &requests[1]);
  MPI_Alltoall_init(in, 1, MPI_INT, out + b.size, 1, MPI_INT, b.comm, MPI_INFO_NULL, &requests[2]);
  MPI_Barrier_init(b.comm, MPI_INFO_NULL, &requests[3]);
  for (int round = 0; round < 2; ++round) {
    MPI_Startall(static_cast<int>(requests.size()), requests.data());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
#endif
}

void tell_calls(int bytes, int rank, int size) {
  const int count = bytes / static_cast<int>(sizeof(int));
  std::vector<int> in(static_cast<std::size_t>(count), 1);
  std::vector<int> out(in.size());
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create(&add_and_count, 1, &op);
  calls = {};
  MPI_Allreduce(in.data(), out.data(), count, MPI_INT, op, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("allreduce %d: %d calls, %d elements\n", bytes, calls.number, calls.elements);
  calls = {};
  MPI_Reduce_scatter_block(in.data(), out.data(), count / size, MPI_INT, op, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("reduce_scatter_block %d: %d calls, %d elements\n", bytes, calls.number,
                calls.elements);
  MPI_Op_free(&op);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Blocks world{MPI_COMM_WORLD};
  call_blocking(world, 0);
  call_nonblocking(world, 0);
  call_within(world);
  call_persistent(world);
  call_neighbours();
  if (size > 1) call_between_groups(rank, size);
  for (int i = 1; i < argc; ++i) tell_calls(std::atoi(argv[i]), rank, size);
  if (rank == 0) std::printf("called them all\n");
  MPI_Finalize();
}
