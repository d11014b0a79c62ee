/// @file
/// What a reader of the numbers must know about where they come from.
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
  std::vector<Rank> ranks{};  ///< Those that run there.
};

/// Where, with what and how a measurement ran.
struct Context {
  std::string version{};      ///< Of tutti, with the commit where it is known.
  std::string library{};      ///< The MPI.
  std::string compiler{};     ///< That built this command.
  std::string processor{};    ///< Model of rank 0's processor.
  std::string started{};      ///< UTC, ISO 8601.
  int ranks = 1;              ///< Number of ranks.
  std::vector<Host> hosts{};  ///< Placement.
  std::map<std::string, std::string> environment{};  ///< The allow-listed variables.
  std::vector<std::string> arguments{};              ///< Flags that repeat the measurement.
  std::vector<std::string> gpus{};  ///< Of each rank, in a sweep on GPUs; else empty.
  std::string nccl{};               ///< Version of NCCL, likewise.

  /// @return whether a host has more ranks than cores.
  [[nodiscard]] bool is_oversubscribed() const;
};

/// Collects. Collective. @param world the ranks. @param arguments that repeat the measurement.
/// @return the context, the same on all ranks but for environment, processor and time, which are
/// the own rank's.
[[nodiscard]] Context collect_context(MeasuredWorld& world, std::vector<std::string> arguments);

/// @param context where, with what and how. @return the facts of it for a JSON record.
[[nodiscard]] nlohmann::ordered_json json_of(const Context& context);
/// @param context where, with what and how. @param options the flags. @return the JSON record.
[[nodiscard]] nlohmann::ordered_json json_of(const Context& context, const SweepOptions& options);

}  // namespace tutti::perf
