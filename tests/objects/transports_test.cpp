// Object collectives over shared memory, over TCP, and over both, with ranks that are threads.
#include "tests/objects/script.hpp"
#include "tests/objects/streams.hpp"
#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

class ObjectsOver : public ::testing::TestWithParam<Setting> {};

TEST_P(ObjectsOver, MoveAndAreRefused) {
  expect_no_error(in_world(GetParam(), run_object_script));
}

TEST_P(ObjectsOver, MoveInSegments) {
  expect_no_error(in_world(GetParam(), run_stream_script));
}

INSTANTIATE_TEST_SUITE_P(Worlds, ObjectsOver,
                         ::testing::Values(Setting{1, "auto", 1}, Setting{2, "shm", 1},
                                           Setting{4, "shm", 1}, Setting{3, "tcp", 3},
                                           Setting{4, "auto", 2}, Setting{7, "auto", 2}));

}  // namespace
}  // namespace tutti::test
