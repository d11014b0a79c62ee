/// @file
/// Programs for faults_test.py: wherever a call of CUDA or NCCL fails, every rank ends with an
/// error, unless it is through already.
#pragma once

#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "gpu_world.hpp"

namespace tutti::harness {

/// @param transport "nccl", "nonblocking", of NCCL whose communicators do not block, or "host".
inline cuda::AttachOptions attached_by(const std::string& transport, Rank rank) {
  return {.device = rank,
          .transport = transport == "host" ? "host" : "nccl",
          .visible = transport == "host",
          .timeout = std::chrono::seconds{3},
          .nonblocking = transport == "nonblocking"};
}

/// Runs rounds of calls on two ranks, by the transport that the first word names.
/// Prints what each rank met. @param rounds that a rank has. @param body what one does; it counts
/// its rounds. @return 3 where one rank ends early and another one does not.
inline int run_faulted(int count, char** words, int rounds,
                       const std::function<void(GpuWorld&, Rank, const std::string& transport,
                                                int& round)>& body) try {
  const std::string transport = count > 1 ? words[1] : "nccl";
  GpuWorld world{2};
  std::vector<int> reached(2);
  const auto errors = world.run([&](Rank rank) {
    try {
      body(world, rank, transport, reached[static_cast<std::size_t>(rank)]);
    } catch (...) {  // no rank waits for calls of a program that has ended
      const Communicator ended = std::move(world[rank]);
      throw;
    }
  });
  bool is_early = false;
  bool is_good = false;
  for (std::size_t rank = 0; rank < reached.size(); ++rank) {
    std::cout << "rank " << rank << ", round " << reached[rank] << ": " << errors[rank] << "\n";
    is_early = is_early || (!errors[rank].empty() && reached[rank] < rounds - 1);
    is_good = is_good || errors[rank].empty();
  }
  return is_early && is_good ? 3 : 0;
} catch (const Error& error) {
  std::cout << "before there are ranks: " << error.what() << "\n";
  return 0;
}

}  // namespace tutti::harness
