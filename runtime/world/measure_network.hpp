/// @file
/// Measures how fast the network between two hosts is.
#pragma once

#include <string_view>

#include <tutti/communicator.hpp>

#include "topology/network_speed.hpp"

namespace tutti::runtime {

/// The shortest times from sending to the receipt of the answer.
struct ProbeTimes {
  Duration message{};  ///< For a byte; zero: unknown.
  Duration shorter{};  ///< For kShortProbeBytes.
  Duration longer{};   ///< For kLongProbeBytes.
};

/// Collective: rank 0 sends some MiB to rank 1. @param pair two ranks on different hosts. @param
/// transport as Options::transport. @return the times of rank 0; on rank 1 those that it measured.
/// Throws errors of its collectives.
[[nodiscard]] ProbeTimes measure_network(Communicator& pair, std::string_view transport = {});

}  // namespace tutti::runtime
