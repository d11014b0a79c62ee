/// @file
/// One collective at one size, from one rank's view: how large its buffers are, and what must
/// stand in them before and after. Written as plain index arithmetic, independent of the library's
/// own contracts, partitions and kernels, because it judges them.
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

/// What is measured, equal on all ranks.
struct Workload {
  Collective collective{};  ///< The operation.
  /// Elements per rank's block, on average where blocks are uneven, or of the vector if it has one.
  std::size_t count = 0;
  Datatype type = Datatype::f32;        ///< Element type.
  OperatorKind op = OperatorKind::sum;  ///< Of reductions.
  Rank root = 0;                        ///< Of rooted collectives.
  int size = 1;                         ///< Number of ranks.
  bool in_place = false;                ///< Whether input and output share memory.
  bool uneven = false;                  ///< Whether blocks differ, as block_count says: a v-form.
  /// If not none, it is no collective but messages, of `count` elements: send is a ping-pong of
  /// rank 0 and the last one, sendrecv passes a vector from every rank to the next.
  PointToPoint point_to_point = PointToPoint::none;
};

/// @param workload any. @return whether it is a collective.
[[nodiscard]] constexpr bool is_collective(const Workload& workload) noexcept {
  return workload.point_to_point == PointToPoint::none;
}
/// @param workload any. @return what is measured, such as "all_reduce", "all_gatherv" or "send".
[[nodiscard]] std::string_view name_of(const Workload& workload) noexcept;
/// @param name such as "all_gatherv". @return the collective of whose v-form it is the name, if so.
[[nodiscard]] std::optional<Collective> uneven_named(std::string_view name) noexcept;

/// Elements of one rank's block. Uneven ones grow evenly: that of rank r has as good as r + 1 of
/// 1 + 2 + .. + n shares, and all together have what equal ones would have. In an all_to_all it is
/// what any two ranks pass whose sum is r, modulo n, so that all send and get as much.
/// @param workload what is measured. @param rank whose block. @return its elements.
[[nodiscard]] std::size_t block_count(const Workload& workload, Rank rank);

/// @param workload any. @return whether it is a v-form in which a rank knows the counts of its own
/// blocks only, and not one in which all ranks know all.
[[nodiscard]] bool knows_own_counts_only(const Workload& workload) noexcept;

/// Why ranks cannot do it. @param workload any. @return a reason, or nothing.
[[nodiscard]] std::string refusal_of(const Workload& workload);

/// Elements of a buffer that are consecutive in the whole vector.
struct Region {
  static constexpr Rank kAllRanks = -1;  ///< As source: the reduction of all contributions.
  /// As source: the reduction of some contributions. @param ranks how many, from rank 0 on.
  static constexpr Rank first_ranks(int ranks) { return kAllRanks - ranks; }
  std::size_t offset = 0;    ///< First element, counted in the buffer.
  std::size_t count = 0;     ///< Elements.
  Rank source = 0;           ///< Whose contribution they are, or one of the above.
  std::size_t position = 0;  ///< Of the first one in the source's contribution.
};

/// One rank's buffers: `in` and `out` in elements, and what they hold.
struct BufferContents {
  std::size_t in_count = 0;      ///< Elements of the input, 0 where the rank has none.
  std::size_t out_count = 0;     ///< Elements of the output, 0 where the rank has none.
  std::vector<Region> input{};   ///< The input before the call.
  std::vector<Region> output{};  ///< The output after it; empty where it is not defined.
  /// In place: where the smaller buffer starts in the larger one, in elements.
  std::size_t shared_offset = 0;
};

/// @param workload what is measured. @param rank whose view. @return that rank's buffers.
[[nodiscard]] BufferContents contents_of(const Workload& workload, Rank rank);

/// @param workload any. @return whether it can run in place at all.
[[nodiscard]] bool has_in_place(const Workload& workload) noexcept;

/// @param workload any. @return whether all ranks end with the same output.
[[nodiscard]] bool is_same_everywhere(const Workload& workload) noexcept;

/// @param workload what is measured. @return vectors that a rank passes on one after the other: two
/// in a ping-pong, of which a time is half, one else.
[[nodiscard]] int trips(const Workload& workload) noexcept;

/// @param workload what is measured. @return bytes of the whole vector, as nccl-tests counts them.
[[nodiscard]] std::size_t total_bytes(const Workload& workload);

/// Sets the count so that total_bytes comes closest to a wish, with at least one element.
/// @param workload all but the count. @param bytes the wish. @return the workload with its count.
[[nodiscard]] Workload with_bytes(Workload workload, std::size_t bytes);

/// @param workload what is measured. @return bus bandwidth divided by algorithm bandwidth, as
/// nccl-tests defines it; 0 for the barrier.
[[nodiscard]] double bus_factor(const Workload& workload);

}  // namespace tutti::perf
