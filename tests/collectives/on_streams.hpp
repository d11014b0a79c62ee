/// @file
/// Worlds whose communicators have streams.
#pragma once

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <tutti/spi/communicator.hpp>

#include "tests/collectives/threaded_streams.hpp"
#include "tests/runtime/worlds.hpp"

namespace tutti::harness {

inline const Stream kStream{nullptr};

/// @return what a call throws, which is an argument's fault.
template <class Body>
[[nodiscard]] std::string refusal_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "no error";
}

/// Runs a body on all ranks of a world whose communicator has streams.
inline void on_streams(StreamHub& hub, const std::function<void(Communicator&)>& body) {
  test::expect_no_error(test::in_world({hub.size(), "shm", 1}, [&](Communicator& world) {
    attach_streams(world, hub.transport(world.rank()));
    body(world);
  }));
}

}  // namespace tutti::harness
