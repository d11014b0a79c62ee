/// @file
/// Other libraries, as libraries.json describes them: equal algorithms of tutti and theirs.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::perf {

/// The file, installed as share/tutti/libraries.json.
inline constexpr const char* kLibraries = "libraries.json";

/// Conditions of MPICH and the algorithms that they select, in the order of trial.
using Conditions = std::vector<std::pair<std::string, std::string>>;

/// An algorithm of a library, and the equal one of tutti.
struct Counterpart {
  Collective collective{};    ///< The operation.
  std::string ours{};         ///< Name of a row of the catalog.
  std::string parameters{};   ///< Parameters of tutti's algorithm, if only these make it equal.
  std::string theirs{};       ///< Name in the library.
  int number = 0;             ///< Number in the library, if it has one.
  bool has_segments = false;  ///< Whether the library lets users choose its segments.
  Conditions instead{};       ///< Algorithms for calls that this one does not support.
};

/// A library whose choices can be configured.
struct Library {
  std::string writer{};                                       ///< Name of its file format.
  std::vector<Counterpart> counterparts{};                    ///< In order of preference.
  std::map<Collective, std::string> calls{};                  ///< Its names of collectives.
  std::map<Collective, int> numbers{};                        ///< Its numbers of them.
  std::vector<std::pair<std::string, Conditions>> untuned{};  ///< Rules for other calls, by name.
  std::vector<Collective> without_sizes{};  ///< Collectives whose rules cannot depend on sizes.
  bool leaves_sizes = true;  ///< Whether rules can leave some sizes to the library's own choice.
};

/// @param name such as "openmpi". @return its row of libraries.json. Throws Failure{usage} if the
/// file has no such row, and Failure{environment} if it cannot be read.
[[nodiscard]] Library library_named(const std::string& name);

}  // namespace tutti::perf
