/// @file
/// A world whose ranks pretend to be on two hosts: memory inside one, MPI between them.
#pragma once

#include <memory>
#include <string>

#include <tutti/mpi.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "backends/mpi/channel.hpp"
#include "backends/mpi/network.hpp"
#include "runtime/world/world.hpp"

namespace tutti::test {

/// @param timeout of the start. @return connections between all ranks.
inline std::shared_ptr<runtime::World> connect_two_hosts(Duration timeout,
                                                         bool has_tcp_too = false) {
  mpi::MpiChannel channel{MPI_COMM_WORLD};
  const std::string host = std::to_string(channel.rank() % 2);
  runtime::WorldOptions options;
  options.network =
      std::make_shared<mpi::MpiNetwork>(MPI_COMM_WORLD, mpi::Options{.timeout = timeout});
  options.has_tcp_too = has_tcp_too;
  options.mesh.host.name += host;
  options.mesh.host.boot += host;
  options.mesh.interface = "127.0.0.1";
  return runtime::World::connect(channel, options, std::chrono::steady_clock::now() + timeout);
}

/// @param timeout of the start and of operations. @param has_tcp_too as WorldOptions. @return the
/// world of all ranks.
inline Communicator world_on_two_hosts(Duration timeout, bool has_tcp_too = false) {
  return make_communicator(connect_two_hosts(timeout, has_tcp_too)->communicator_parts(),
                           make_host_memory(), {.timeout = timeout});
}

}  // namespace tutti::test
