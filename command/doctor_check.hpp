/// @file
/// The checks of `tutti doctor`: each one finds something, and advises a cure if it is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launch/config.hpp"
#include "runtime/launch/launch.hpp"

namespace tutti::command::doctor {

/// How serious a finding is. Greater is worse.
enum class Verdict : std::uint8_t {
  ok,
  warning,  ///< Jobs run, but slowly, without a feature, or on one host only.
  fault     ///< A job such as this one fails.
};

[[nodiscard]] std::string_view name_of(Verdict verdict) noexcept;

/// The finding of one check.
struct Check {
  std::string name{};
  Verdict verdict = Verdict::ok;
  std::string found{};
  std::string cure{};  ///< A sentence with the command to run; empty if all is well.
};

/// @param message of an error. Without a given cure, its last clause is the cure, after a
/// semicolon.
[[nodiscard]] Check check_of_error(std::string name, Verdict verdict, const std::string& message,
                                   std::string cure = {});

/// The process that checks.
struct Subject {
  runtime::Environment environment{};
  runtime::Launch launch{};    ///< Rank 0 of 1 if the variables of launchers are wrong.
  std::string launch_error{};  ///< The error of those variables, or empty.
  int ranks = 1;               ///< The size of the job: launched, requested, or one per core.
  int ranks_here = 1;          ///< The most of them on this host.
  bool is_first_here = true;   ///< Whether no other rank of this host does the same for all.
};

/// @param asked number of ranks on the command line; 0: none. @return this process.
[[nodiscard]] Subject subject_of(int asked);

/// Checks the limits and the memory of this host.
[[nodiscard]] std::vector<Check> checks_of_host(const Subject& subject);
/// Checks the number of descriptors alone.
[[nodiscard]] Check check_descriptors(int ranks);
/// Checks the launch, names, addresses and the secret.
[[nodiscard]] std::vector<Check> checks_of_network(const Subject& subject);
/// Checks the MPI, GPUs, Python and the tuning file.
[[nodiscard]] std::vector<Check> checks_of_software(const Subject& subject);

}  // namespace tutti::command::doctor
