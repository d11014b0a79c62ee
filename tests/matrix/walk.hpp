/// @file
/// A rank's walk through cells, on any transport.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <tutti/communicator.hpp>

#include "cells.hpp"

namespace tutti::matrix {

/// The place of the calls' buffers, and the options of calls.
class Placement {
 public:
  Placement() = default;
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;
  virtual ~Placement() = default;
  /// @param call on memory of the host, which outlives what is returned. @return the same on other
  /// memory, with the values of the first.
  [[nodiscard]] virtual Call place(const Call& call) = 0;
  /// Before calls of one cell run once more: copies what the host has to there again.
  virtual void store() = 0;
  /// When calls of one cell have ended: copies what they brought to the host.
  virtual void fetch() = 0;
  /// Frees the placed buffers.
  virtual void clear() = 0;
  /// @return whether calls run one after the other, so that those of one rank which must not wait
  /// for each other have to start as a batch.
  [[nodiscard]] virtual bool runs_in_order() const = 0;
  /// @param options of a call. @return those there.
  [[nodiscard]] virtual Options options(Options options) const = 0;
};

/// The findings of a rank.
struct Report {
  std::vector<std::string> problems{};  ///< One sentence for each.
  /// Datatypes that each operation moved rightly, and each operator reduced.
  std::map<std::string, std::vector<std::string>> right{};

  /// Notes that a datatype went well. @param what an operation or operator. @param type which.
  void add(std::string_view what, std::string_view type);
};

/// Runs cells, each of which compares results with an oracle that shares no code with tutti.
/// @param world of as many ranks as the cells say. @param cells equal on all ranks. @param
/// placement of buffers; null: they lie where they are. @return what this rank found.
[[nodiscard]] Report walk(Communicator& world, std::span<const Cell> cells,
                          Placement* placement = nullptr);
/// Asks for every operator with every datatype: what fits must work, what does not must be refused
/// with a reason, and change nothing. @param world any. @param placement as of walk. @return what
/// this rank found.
[[nodiscard]] Report try_operators(Communicator& world, Placement* placement = nullptr);
/// Runs the object collectives, blocking and not. @param world any. @return what this rank found.
[[nodiscard]] Report pass_objects(Communicator& world);

/// @return the object collectives' names.
[[nodiscard]] std::vector<std::string_view> object_operations();
/// All three. Parameters as of walk. @return this rank's findings.
[[nodiscard]] Report walk_all(Communicator& world, std::span<const Cell> cells,
                              Placement* placement = nullptr);

/// Expects no problems, and records what went well in GoogleTest's report, from which the table in
/// docs is made. @param report of a rank. @param transport its name. @param size ranks of the
/// world.
void expect_right(const Report& report, const std::string& transport, int size);

}  // namespace tutti::matrix
