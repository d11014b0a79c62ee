/// @file
/// Measures how fast the network between two hosts is.
#pragma once

#include <string_view>

#include <tutti/communicator.hpp>

#include "topology/network_speed.hpp"

namespace tutti::runtime {

/// The shortest times until something was there and answered.
struct Probes {
  Duration message{};  ///< Of a byte; zero: unknown.
  Duration shorter{};  ///< Of kShortProbeBytes.
  Duration longer{};   ///< Of kLongProbeBytes.
};

/// Collective: rank 0 sends to rank 1, some MiB at the most.
/// @param pair two ranks on different hosts. @param transport as Options::transport. @return what
/// rank 0 measured, and rank 1 has seen. Throws what its collectives throw.
[[nodiscard]] Probes measure_network(Communicator& pair, std::string_view transport = {});

}  // namespace tutti::runtime
