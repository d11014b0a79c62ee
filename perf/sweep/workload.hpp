/// @file
/// One collective at one size: the sizes of each rank's buffers, and their expected contents before
/// and after the call. It uses plain index arithmetic, independent of the library's own contracts,
/// partitions and kernels, because it checks them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/call.hpp>
#include <tutti/operators.hpp>
#include <tutti/types.hpp>

namespace tutti::perf {

/// A collective and its size, equal on all ranks.
struct Workload {
  Collective collective{};  ///< The operation.
  /// Elements per rank's block, on average if blocks are uneven; or of the vector, if the
  /// collective has no blocks.
  std::size_t count = 0;
  Datatype type = Datatype::f32;        ///< Element type.
  OperatorKind op = OperatorKind::sum;  ///< Operator of reductions.
  Rank root = 0;                        ///< Root of rooted collectives.
  int size = 1;                         ///< Number of ranks.
  bool in_place = false;                ///< Whether input and output share memory.
  bool uneven = false;                  ///< Whether blocks differ (a v-form): see block_count.
  /// If not none, messages of `count` elements instead of a collective: send is a ping-pong of rank
  /// 0 and the last one, sendrecv sends a vector from every rank to the next.
  PointToPoint point_to_point = PointToPoint::none;
};

/// @return whether it is a collective.
[[nodiscard]] constexpr bool is_collective(const Workload& workload) noexcept {
  return workload.point_to_point == PointToPoint::none;
}
/// @return such as "all_reduce", "all_gatherv" or "send".
[[nodiscard]] std::string_view name_of(const Workload& workload) noexcept;
/// @param name such as "all_gatherv". @return the collective of that v-form, if there is one.
[[nodiscard]] std::optional<Collective> uneven_named(std::string_view name) noexcept;

/// @return elements of one rank's block. Uneven blocks grow linearly: the block of rank r has about
/// r + 1 of 1 + 2 + .. + n shares, and all blocks together have the elements of equal ones. In an
/// all_to_all, `rank` is the sum of the ranks of sender and receiver modulo n, so that all ranks
/// send and receive the same amount.
[[nodiscard]] std::size_t block_count(const Workload& workload, Rank rank);

/// @return whether it is a v-form in which a rank knows only the counts of its own blocks.
[[nodiscard]] bool knows_own_counts_only(const Workload& workload) noexcept;

/// @return the reason why it cannot be measured, or nothing.
[[nodiscard]] std::string refusal_of(const Workload& workload);

/// Elements of a buffer that are consecutive in the whole vector.
struct Region {
  static constexpr Rank kAllRanks = -1;  ///< As source: the reduction of all contributions.
  /// As source: the reduction of the contributions of the first `ranks` ranks.
  static constexpr Rank first_ranks(int ranks) { return kAllRanks - ranks; }
  std::size_t offset = 0;    ///< First element, counted in the buffer.
  std::size_t count = 0;     ///< Elements.
  Rank source = 0;           ///< Rank of the contribution, or one of the above.
  std::size_t position = 0;  ///< Position of the first element in the contribution.
};

/// One rank's buffers: their sizes and contents.
struct BufferContents {
  std::size_t in_count = 0;      ///< Elements of the input; 0 if the rank has none.
  std::size_t out_count = 0;     ///< Elements of the output; 0 if the rank has none.
  std::vector<Region> input{};   ///< The input before the call.
  std::vector<Region> output{};  ///< The output after it; empty if it is not defined.
  /// In place: start of the smaller buffer in the larger one, in elements.
  std::size_t shared_offset = 0;
};

/// @return the buffers of one rank.
[[nodiscard]] BufferContents contents_of(const Workload& workload, Rank rank);

/// @return whether it can run in place.
[[nodiscard]] bool has_in_place(const Workload& workload) noexcept;

/// @return whether all ranks have the same output.
[[nodiscard]] bool is_same_everywhere(const Workload& workload) noexcept;

/// @return vectors that a rank sends in sequence: two in a ping-pong, whose time is divided by two;
/// else one.
[[nodiscard]] int trips(const Workload& workload) noexcept;

/// @return bytes of the whole vector, as nccl-tests counts them.
[[nodiscard]] std::size_t total_bytes(const Workload& workload);

/// @return the workload with the count for which total_bytes is nearest to `bytes`; at least one
/// element.
[[nodiscard]] Workload with_bytes(Workload workload, std::size_t bytes);

/// @return bus bandwidth divided by algorithm bandwidth, as nccl-tests defines it; 0 for the
/// barrier.
[[nodiscard]] double bus_factor(const Workload& workload);

}  // namespace tutti::perf
