// Object collectives over MPI, whose messages are cut into chunks of which large objects need
// several.
#include <gtest/gtest.h>

#include <chrono>

#include <tutti/mpi.hpp>

#include "tests/objects/script.hpp"
#include "tests/objects/streams.hpp"
#include "tests/support/patience.hpp"
#include "two_hosts.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;

TEST(MpiObjects, MoveAndAreRefused) {
  Communicator world = mpi::communicator(MPI_COMM_WORLD, {.timeout = kAmple},
                                         {.chunk_bytes = 50000, .timeout = kAmple});
  run_object_script(world);
}

TEST(MpiObjects, MoveBetweenHostsAndInside) {
  Communicator world = world_on_two_hosts(kAmple);
  run_object_script(world);
}

TEST(MpiObjects, MoveInSegments) {
  Communicator world = mpi::communicator(MPI_COMM_WORLD, {.timeout = kAmple},
                                         {.chunk_bytes = 50000, .timeout = kAmple});
  run_stream_script(world);
}

}  // namespace
}  // namespace tutti::test
