/// @file
/// A collective call with erased types: every typed call of a Communicator becomes one.
#pragma once

#include <cstddef>
#include <ranges>
#include <span>
#include <type_traits>

#include <tutti/element_operator.hpp>
#include <tutti/elements.hpp>
#include <tutti/operators.hpp>
#include <tutti/options.hpp>

namespace tutti::v0 {

/// A call without types. Its buffers are in use until the operation ends.
///
/// A rank ignores buffers that it does not use, and a pointer to them may be null:
///
/// | collective | `in`, `in_count` | `out`, `out_count` |
/// |---|---|---|
/// | reduce, gather | every rank | the root |
/// | scatter | the root | every rank |
/// | broadcast | `in` the root, `in_count` every rank | every rank; at the root `in` may be `out` |
/// | exscan | every rank | every rank but 0 |
/// | barrier | no rank | no rank |
/// | send, recv | of send | of recv |
/// | all others | every rank | every rank |
///
/// A buffer of no elements may be null anywhere. Every rank of a reduction needs `op`, also ranks
/// other than the root; other calls ignore it. `in_counts` of a scatter and `out_counts` of a
/// gather are needed at the root only. Any other null is Error{invalid_argument}.
///
/// An ignored field may have any value: no pointer in it is followed. Ignored are also `root` of a
/// collective without one, `is_bool` of elements other than u8, `in_counts` and `out_counts`
/// without `own_counts`, `type` and `element_bytes` of a barrier, `to`, `from` and `tag` of a
/// collective, and `collective` of a message. `own_counts` of a collective that cannot have them is
/// Error{invalid_argument}.
struct Call {
  Collective collective{};        ///< The operation.
  const void* in = nullptr;       ///< The input, or null: see above.
  void* out = nullptr;            ///< The output, or null: see above.
  std::size_t in_count = 0;       ///< Elements of the input.
  std::size_t out_count = 0;      ///< Elements of the output.
  Datatype type = Datatype::u8;   ///< Type of the elements.
  std::size_t element_bytes = 1;  ///< Size of one element.
  Rank root = 0;                  ///< Root of rooted collectives.
  const Operator* op = nullptr;   ///< Operator of reductions; copied when the operation starts.
  bool visible = false;           ///< As Options::visible; one of the two suffices.
  bool is_bool = false;           ///< Whether elements of u8 are bool, see OperatorKind.
  /// Whether blocks differ in size and every rank knows the sizes of its own only: scatter, gather
  /// and all_to_all. Equal on all ranks.
  bool own_counts = false;
  /// With own_counts, elements per block of the input: at the root of a scatter, and in an
  /// all_to_all. Read only when the operation starts, as is the next.
  std::span<const std::size_t> in_counts{};
  /// With own_counts, elements per block of the output: at the root of a gather, and in an
  /// all_to_all.
  std::span<const std::size_t> out_counts{};
  /// A message of all elements to or from a peer; none: a collective.
  PointToPoint point_to_point = PointToPoint::none;
  Rank to = 0;    ///< Receiver of send and sendrecv.
  Rank from = 0;  ///< Sender of recv and sendrecv.
  int tag = 0;    ///< Tag of messages, 0 .. kUserTags - 1.
};

/// The number of elements of each of several blocks.
using Counts = std::span<const std::size_t>;

/// Typed constructors of Call. The Communicator's methods document the arguments.
namespace call {

/// An input with the element type of the output.
template <MutableElements Out>
using In = Input<ElementOf<Out>>;
/// An operator on elements of the output's type.
template <Elements Out>
using Op = ElementOperator<ElementOf<Out>>;

/// Makes a call of any collective; a Communicator's method documents its arguments.
template <MutableElements Out>
[[nodiscard]] Call make(Collective collective, In<Out> in, Out&& out, Rank root = 0,
                        const Operator* op = nullptr) noexcept {
  using T = ElementOf<Out>;
  // Some ranks pass one buffer only, so `visible` is that of the buffer which every rank passes.
  const bool from_root = collective == Collective::scatter;
  return {.collective = collective,
          .in = in.data(),
          .out = std::ranges::data(out),
          .in_count = in.size(),
          .out_count = std::ranges::size(out),
          .type = datatype_of<T>(),
          .element_bytes = sizeof(T),
          .root = root,
          .op = op,
          .visible = from_root ? detail::is_buffer<std::remove_cvref_t<Out>> : in.is_buffer(),
          .is_bool = std::is_same_v<T, bool>};
}
/// @{
/// Makes the call that the Communicator's method of this name documents.
template <MutableElements Out>
[[nodiscard]] Call all_reduce(In<Out> in, Out&& out, const Operator& op) noexcept {
  return make(Collective::all_reduce, in, out, 0, &op);
}
template <MutableElements Out>
[[nodiscard]] Call reduce(In<Out> in, Out&& out, const Operator& op, Rank root) noexcept {
  return make(Collective::reduce, in, out, root, &op);
}
template <MutableElements Out>
[[nodiscard]] Call broadcast(Out&& inout, Rank root) noexcept {
  return make(Collective::broadcast, inout, inout, root);
}
template <MutableElements Out>
[[nodiscard]] Call scatter(In<Out> in, Out&& out, Rank root) noexcept {
  return make(Collective::scatter, in, out, root);
}
template <MutableElements Out>
[[nodiscard]] Call gather(In<Out> in, Out&& out, Rank root) noexcept {
  return make(Collective::gather, in, out, root);
}
template <MutableElements Out>
[[nodiscard]] Call all_gather(In<Out> in, Out&& out) noexcept {
  return make(Collective::all_gather, in, out);
}
template <MutableElements Out>
[[nodiscard]] Call reduce_scatter(In<Out> in, Out&& out, const Operator& op) noexcept {
  return make(Collective::reduce_scatter, in, out, 0, &op);
}
template <MutableElements Out>
[[nodiscard]] Call all_to_all(In<Out> in, Out&& out) noexcept {
  return make(Collective::all_to_all, in, out);
}
template <MutableElements Out>
[[nodiscard]] Call scan(In<Out> in, Out&& out, const Operator& op) noexcept {
  return make(Collective::scan, in, out, 0, &op);
}
template <MutableElements Out>
[[nodiscard]] Call exscan(In<Out> in, Out&& out, const Operator& op) noexcept {
  return make(Collective::exscan, in, out, 0, &op);
}
template <MutableElements Out>
[[nodiscard]] Call scatterv(In<Out> in, Counts counts, Out&& out, Rank root) noexcept {
  Call call = make(Collective::scatter, in, out, root);
  call.own_counts = true;
  call.in_counts = counts;
  return call;
}
template <MutableElements Out>
[[nodiscard]] Call gatherv(In<Out> in, Out&& out, Counts counts, Rank root) noexcept {
  Call call = make(Collective::gather, in, out, root);
  call.own_counts = true;
  call.out_counts = counts;
  return call;
}
template <MutableElements Out>
[[nodiscard]] Call all_to_allv(In<Out> in, Counts in_counts, Out&& out,
                               Counts out_counts) noexcept {
  Call call = make(Collective::all_to_all, in, out);
  call.own_counts = true;
  call.in_counts = in_counts;
  call.out_counts = out_counts;
  return call;
}
/// @return the options with the counts of all blocks.
[[nodiscard]] inline Options with_counts(Options options, Counts counts) noexcept {
  options.counts = counts;
  return options;
}
template <Elements In>
[[nodiscard]] Call send(const In& in, Rank to, int tag) noexcept {
  using T = ElementOf<In>;
  return {.in = std::ranges::data(in),
          .in_count = std::ranges::size(in),
          .type = datatype_of<T>(),
          .element_bytes = sizeof(T),
          .point_to_point = PointToPoint::send,
          .to = to,
          .tag = tag};
}
template <MutableElements Out>
[[nodiscard]] Call recv(Out&& out, Rank from, int tag) noexcept {
  using T = ElementOf<Out>;
  return {.out = std::ranges::data(out),
          .out_count = std::ranges::size(out),
          .type = datatype_of<T>(),
          .element_bytes = sizeof(T),
          .point_to_point = PointToPoint::recv,
          .from = from,
          .tag = tag};
}
template <MutableElements Out>
[[nodiscard]] Call sendrecv(In<Out> in, Rank to, Out&& out, Rank from, int tag) noexcept {
  Call call = recv(out, from, tag);
  call.in = in.data();
  call.in_count = in.size();
  call.point_to_point = PointToPoint::sendrecv;
  call.to = to;
  return call;
}
[[nodiscard]] inline Call barrier() noexcept {
  return {.collective = Collective::barrier};
}
/// @}

}  // namespace call
}  // namespace tutti::v0
