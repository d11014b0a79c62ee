/// @file
/// Facts about the measured machine, software and settings.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "perf/measured_world.hpp"

namespace tutti::perf {

struct SweepOptions;

/// A host and the ranks on it.
struct Host {
  std::string name{};         ///< As the host calls itself.
  int cores = 0;              ///< Processors that are online.
  std::vector<Rank> ranks{};  ///< Ranks on this host.
};

/// Machine, software and settings of a measurement.
struct Context {
  std::string version{};      ///< Version of tutti, with the commit if it is known.
  std::string library{};      ///< The MPI.
  std::string compiler{};     ///< Compiler of this command.
  std::string processor{};    ///< Model of rank 0's processor.
  std::string started{};      ///< UTC, ISO 8601.
  int ranks = 1;              ///< Number of ranks.
  std::vector<Host> hosts{};  ///< Placement.
  std::map<std::string, std::string> environment{};  ///< The allow-listed variables.
  std::vector<std::string> arguments{};              ///< Flags that repeat the measurement.
  std::vector<std::string> gpus{};  ///< GPU of each rank; empty in a sweep on the host.
  std::string nccl{};               ///< Version of NCCL; empty in a sweep on the host.

  /// @return whether a host has more ranks than cores.
  [[nodiscard]] bool is_oversubscribed() const;
};

/// Collective. @param arguments that repeat the measurement. @return the same on all ranks, except
/// environment, processor and time, which are this rank's.
[[nodiscard]] Context collect_context(MeasuredWorld& world, std::vector<std::string> arguments);

/// @return the facts for a JSON record.
[[nodiscard]] nlohmann::ordered_json json_of(const Context& context);
/// @return the JSON record of facts and flags.
[[nodiscard]] nlohmann::ordered_json json_of(const Context& context, const SweepOptions& options);

}  // namespace tutti::perf
