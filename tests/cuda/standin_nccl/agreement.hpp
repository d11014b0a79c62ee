/// @file
/// What the ranks of a communicator tell each other, aside from messages and in an order of its
/// own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tutti::nccl_standin {

struct Seat;

/// What a rank tells all others.
struct Note {
  enum class Purpose : std::uint64_t { split, window, call };

  Purpose purpose{};
  std::int64_t color = 0;  ///< Of a split, as NCCL takes it.
  std::int64_t key = 0;
  std::uint64_t bytes = 0;      ///< Of a window.
  std::array<char, 32> name{};  ///< For a new communicator.
};

/// Throws Failure if the ranks have not all called the same, with the same size.
void require_agreement(const std::vector<Note>& notes);

/// @param notes of all ranks, by rank. @return the seat of a rank in its new communicator; nothing
/// if it wants none.
std::optional<Seat> seat_after_split(const std::vector<Note>& notes, int rank);

/// @return a name that no other communicator has.
std::array<char, 32> random_name();

}  // namespace tutti::nccl_standin
