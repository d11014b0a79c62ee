/// @file
/// A call, with the data that it needs until it has ended.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <tutti/call.hpp>
#include <tutti/operators.hpp>

#include "dropin/engine/blocks.hpp"

namespace tutti::dropin {

/// A call of a program. Movable; its bytes stay where they are.
struct Task {
  Call call{};
  /// Elements per block of calls where all ranks know them.
  std::vector<std::size_t> counts{};
  std::optional<Bytes> in{};
  std::optional<Bytes> out{};
  std::vector<Block> sources{};   ///< The blocks of `in`, if it is a copy of them.
  std::vector<std::byte> copy{};  ///< The input, if it must not overlap the output.
  /// The blocks where `out` is stored at the end, if it is not there already.
  std::vector<Block> results{};
  /// A result that is copied to `front` at the end.
  std::vector<std::byte> aside{};
  void* front = nullptr;

  std::optional<Operator> op{};  ///< The operator, if the call is started later.

  /// Takes the data of blocks as the input.
  void read(std::span<const Block> blocks);
  /// Takes the data of the blocks again, for another run of the call.
  void read_again();
  /// Takes blocks as the output.
  void write(std::span<const Block> blocks);
  /// Puts results in their places, after the call.
  void finish() const;
};

}  // namespace tutti::dropin
