/// @file
/// What a rank does to walk through cells, on whatever transport.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>

#include "cells.hpp"

namespace tutti::matrix {

/// What a rank found.
struct Report {
  std::vector<std::string> problems{};  ///< What went wrong, in words.
  /// Datatypes that each operation moved rightly, and each operator reduced.
  std::map<std::string, std::vector<std::string>> right{};

  /// Notes that a datatype went well. @param what an operation or operator. @param type which.
  void add(std::string_view what, std::string_view type);
};

/// Runs cells, each of which compares results with an oracle that shares no code with tutti.
/// @param world of as many ranks as the cells say. @param cells equal on all ranks. @return what
/// this rank found.
[[nodiscard]] Report walk(Communicator& world, std::span<const Cell> cells);
/// Asks for every operator with every datatype: what fits must work, what does not must be refused
/// with a reason, and change nothing. @param world any. @return what this rank found.
[[nodiscard]] Report try_operators(Communicator& world);
/// Runs the object collectives, blocking and not. @param world any. @return what this rank found.
[[nodiscard]] Report pass_objects(Communicator& world);

/// @return the object collectives' names.
[[nodiscard]] std::vector<std::string_view> object_operations();
/// All three. @param world as of walk. @param cells likewise. @return what this rank found.
[[nodiscard]] Report walk_all(Communicator& world, std::span<const Cell> cells);

/// Expects no problems, and records what went well in GoogleTest's report, from which the table in
/// docs is made. @param report of a rank. @param transport its name. @param size ranks of the
/// world.
void expect_right(const Report& report, const std::string& transport, int size);

}  // namespace tutti::matrix
