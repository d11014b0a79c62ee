// A library between a program and its MPI, such as a profiler, gets the program's calls, and none
// of tutti's.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/patience.hpp"
#include "two_hosts.hpp"

namespace {

std::set<std::string> seen;  // names of what came by

template <class... Parameters, class... Arguments>
int pass(const char* name, int (*function)(Parameters...), Arguments... arguments) {
  seen.insert(name);
  return function(arguments...);
}

}  // namespace

extern "C" {
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return pass("Isend", PMPI_Isend, data, count, type, to, tag, comm, request);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return pass("Irecv", PMPI_Irecv, data, count, type, from, tag, comm, request);
}
int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  return pass("Send", PMPI_Send, data, count, type, to, tag, comm);
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  return pass("Recv", PMPI_Recv, data, count, type, from, tag, comm, status);
}
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  return pass("Test", PMPI_Test, request, done, status);
}
int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  return pass("Testsome", PMPI_Testsome, count, requests, done, indices, statuses);
}
int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* found, MPI_Status* status) {
  return pass("Iprobe", PMPI_Iprobe, from, tag, comm, found, status);
}
int MPI_Improbe(int from, int tag, MPI_Comm comm, int* found, MPI_Message* message,
                MPI_Status* status) {
  return pass("Improbe", PMPI_Improbe, from, tag, comm, found, message, status);
}
int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  return pass("Mrecv", PMPI_Mrecv, data, count, type, message, status);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return pass("Comm_dup", PMPI_Comm_dup, comm, made);
}
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  return pass("Comm_idup", PMPI_Comm_idup, comm, made, request);
}
int MPI_Comm_free(MPI_Comm* comm) {
  return pass("Comm_free", PMPI_Comm_free, comm);
}
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  return pass("Comm_create_group", PMPI_Comm_create_group, comm, group, tag, made);
}
int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  return pass("Comm_rank", PMPI_Comm_rank, comm, rank);
}
int MPI_Comm_size(MPI_Comm comm, int* size) {
  return pass("Comm_size", PMPI_Comm_size, comm, size);
}
int MPI_Iallgather(const void* in, int count, MPI_Datatype type, void* out, int counts,
                   MPI_Datatype types, MPI_Comm comm, MPI_Request* request) {
  return pass("Iallgather", PMPI_Iallgather, in, count, type, out, counts, types, comm, request);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return pass("Ibarrier", PMPI_Ibarrier, comm, request);
}
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  return pass("Allreduce", PMPI_Allreduce, in, out, count, type, op, comm);
}
int MPI_Finalized(int* flag) {
  return pass("Finalized", PMPI_Finalized, flag);
}
int MPI_Type_commit(MPI_Datatype* type) {
  return pass("Type_commit", PMPI_Type_commit, type);
}
}  // extern "C"

namespace tutti::test {
namespace {

void work(Communicator world) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}}) {
    std::vector<int> values(count, 1);
    world.all_reduce(std::span{values});
    ASSERT_EQ(values.back(), world.size());
    std::vector<int> all(count * static_cast<std::size_t>(world.size()));
    world.all_gather(values, std::span{all});
  }
  world.split(world.rank() % 2).barrier();
}

TEST(MpiInterposer, SeesNothingOfTutti) {
  using namespace std::chrono_literals;
  seen.clear();
  work(mpi::communicator(MPI_COMM_WORLD));
  work(mpi::init(MPI_COMM_WORLD));
  work(world_on_two_hosts(kAmple));
  int value = 1;
  int sum_of_ones = 0;
  mpi::native(call::all_reduce(std::span{&value, 1}, std::span{&sum_of_ones, 1}, sum),
              MPI_COMM_WORLD);
  EXPECT_EQ(seen, std::set<std::string>{});
}

TEST(MpiInterposer, SeesTheProgram) {
  seen.clear();
  int found = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
  EXPECT_EQ(seen, std::set<std::string>{"Iprobe"});
}

}  // namespace
}  // namespace tutti::test
