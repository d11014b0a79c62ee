/// @file
/// Values that the ranks of a communicator exchange, aside from messages and in an order of its
/// own.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tutti::nccl_standin {

/// A rank's values for all others.
struct Note {
  enum class Purpose : std::uint64_t { window, call };

  Purpose purpose{};
  std::uint64_t bytes = 0;  ///< Size of a window.
};

/// Throws Failure if the ranks have not all called the same, with the same size.
void require_agreement(const std::vector<Note>& notes);

/// @return a name that no other communicator has.
std::array<char, 32> random_name();

}  // namespace tutti::nccl_standin
