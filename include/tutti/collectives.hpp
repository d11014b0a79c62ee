/// @file
/// The collectives, and messages between two ranks: each stands here once, for every way to call
/// it.
#pragma once

#include <cstddef>

#include <tutti/call.hpp>
#include <tutti/misuse.hpp>

namespace tutti::v0 {

/// The collectives of a Communicator, on arrays. An array is whatever is MutableElements: a span, a
/// vector, an array, a Buffer; on calls with two, the same one twice works in place where that is
/// said. Where one is a Buffer from Communicator::allocate it is so on all ranks, since the
/// algorithm is chosen for such memory then.
///
/// An operator is one of tutti's, such as `max`, an Operator of the caller's own, or a function of
/// two elements such as std::plus or a lambda; see ElementOperator.
///
/// Which object a method belongs to says what becomes of the call:
///
/// | call | returns | arrays are tutti's until |
/// |---|---|---|
/// | `world.all_reduce(x)` | nothing, when the operation has ended | it returns |
/// | `world.try_().all_reduce(x)` | a Result<void>: nothing, or the Error | it returns |
/// | `world.async().all_reduce(x)` | the Request of an operation under way | that is done |
/// | `world.plan().all_reduce(x)` | a Plan, to be started again and again | its run is done |
///
/// @tparam Self has `Outcome run(const Call&, const Options&)`. @tparam Outcome what that returns.
template <class Self, class Outcome>
class Collectives {
 public:
  /// Every rank gets the reduction of all ranks' vectors, in place.
  /// @param inout own vector, then the result; as many elements on all ranks.
  /// @param op the operator. @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome all_reduce(Out&& inout, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::all_reduce(inout, inout, op.get()), options);
  }
  /// Every rank gets the reduction of all ranks' vectors.
  /// @param in own vector; as many elements on all ranks. @param out the result; the same span, or
  ///        one that does not overlap.
  /// @param op the operator. @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome all_reduce(call::In<Out> in, Out&& out, call::Op<Out> op = sum,
                     const Options& options = {}) {
    return self().run(call::all_reduce(in, out, op.get()), options);
  }
  /// The root gets the reduction of all ranks' vectors.
  /// @param in own vector; as many elements on all ranks. @param out the result at the
  ///        root, ignored elsewhere. @param root its rank. @param op the operator.
  /// @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome reduce(call::In<Out> in, Out&& out, call::Op<Out> op = sum, Rank root = 0,
                 const Options& options = {}) {
    return self().run(call::reduce(in, out, op.get(), root), options);
  }
  /// Every rank gets the root's vector.
  /// @param inout the vector; as many elements on all ranks. @param root the rank that has it.
  /// @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome broadcast(Out&& inout, Rank root = 0, const Options& options = {}) {
    return self().run(call::broadcast(inout, root), options);
  }
  /// Rank r gets block r of the root's vector.
  /// @param in at the root all blocks in the order of ranks, ignored elsewhere. @param out own
  ///        block; may be block `root` of `in`. @param root the rank that has them.
  /// @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome scatter(call::In<Out> in, Out&& out, Rank root = 0, const Options& options = {}) {
    return self().run(call::scatter(in, out, root), options);
  }
  /// The root gets all ranks' blocks, in the order of ranks.
  /// @param in own block; at the root it may be the own block of `out`. @param out at the root all
  ///        blocks, ignored elsewhere. @param root its rank. @param options see Options.
  /// @return see Collectives.
  template <MutableElements Out>
  Outcome gather(call::In<Out> in, Out&& out, Rank root = 0, const Options& options = {}) {
    return self().run(call::gather(in, out, root), options);
  }
  /// Every rank gets all ranks' blocks, in the order of ranks.
  /// @param in own block; may be the own block of `out`. @param out all blocks.
  /// @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome all_gather(call::In<Out> in, Out&& out, const Options& options = {}) {
    return self().run(call::all_gather(in, out), options);
  }
  /// Rank r gets block r of the reduction of all ranks' vectors.
  /// In place the result stays where the own block was, and the other blocks as they are. With
  /// MPI_IN_PLACE, MPI_Reduce_scatter_block puts it at the start of the receive buffer instead,
  /// and the rest is lost: whoever comes from there reads block r of the vector, not the first.
  /// @param in all blocks, in the order of ranks. @param out own block of the result; may
  ///        be the own block of `in`. @param op the operator. @param options see Options.
  /// @return see Collectives.
  template <MutableElements Out>
  Outcome reduce_scatter(call::In<Out> in, Out&& out, call::Op<Out> op = sum,
                         const Options& options = {}) {
    return self().run(call::reduce_scatter(in, out, op.get()), options);
  }
  /// Rank r gets block r of every rank's vector, in the order of ranks.
  /// @param in one block for every rank. @param out one block from every rank; the same as the
  ///        input, which then is copied first, or one that does not overlap.
  /// @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome all_to_all(call::In<Out> in, Out&& out, const Options& options = {}) {
    return self().run(call::all_to_all(in, out), options);
  }
  /// Every rank gets the reduction of the vectors of all ranks up to its own, in place.
  /// @param inout own vector, then the result; as many elements on all ranks.
  /// @param op any operator but average. @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome scan(Out&& inout, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::scan(inout, inout, op.get()), options);
  }
  /// Every rank gets the reduction of the vectors of all ranks up to its own.
  /// @param in own vector; as many elements on all ranks. @param out the result; the same array, or
  ///        one that does not overlap. @param op any operator but average.
  /// @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome scan(call::In<Out> in, Out&& out, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::scan(in, out, op.get()), options);
  }
  /// Every rank gets the reduction of the vectors of all ranks before it, in place. That of rank 0
  /// stays as it is.
  /// @param inout own vector, then the result; as many elements on all ranks.
  /// @param op any operator but average. @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome exscan(Out&& inout, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::exscan(inout, inout, op.get()), options);
  }
  /// Every rank but rank 0 gets the reduction of the vectors of all ranks before it.
  /// @param in own vector; as many elements on all ranks. @param out the result; the same array, or
  ///        one that does not overlap; ignored at rank 0. @param op any operator but average.
  /// @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome exscan(call::In<Out> in, Out&& out, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::exscan(in, out, op.get()), options);
  }
  /// Rank r gets block r of the root's vector; blocks differ in size, and only the root knows all.
  /// @param in at the root all blocks in the order of ranks, ignored elsewhere. @param counts at
  /// the
  ///        root the elements of each block, ignored elsewhere. @param out own block, of the size
  ///        that the root says; else Error{mismatch}, or Error{timeout} where one of the two sizes
  ///        is zero. May be that block of `in`. @param root the rank that has them. @param options
  ///        see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome scatterv(call::In<Out> in, Counts counts, Out&& out, Rank root = 0,
                   const Options& options = {}) {
    return self().run(call::scatterv(in, counts, out, root), options);
  }
  /// The root gets all ranks' blocks, which differ in size; only the root knows all sizes.
  /// @param in own block; at the root it may be the own block of `out`. @param out at the root all
  ///        blocks in the order of ranks, ignored elsewhere. @param counts at the root the elements
  ///        of each block, ignored elsewhere. @param root its rank. @param options see Options.
  /// @return see Collectives.
  template <MutableElements Out>
  Outcome gatherv(call::In<Out> in, Out&& out, Counts counts, Rank root = 0,
                  const Options& options = {}) {
    return self().run(call::gatherv(in, out, counts, root), options);
  }
  /// Every rank gets all ranks' blocks, which differ in size, in the order of ranks.
  /// @param in own block; may be the own block of `out`. @param out all blocks. @param counts the
  ///        elements of each block, equal on all ranks. @param options see Options.
  /// @return see Collectives.
  template <MutableElements Out>
  Outcome all_gatherv(call::In<Out> in, Out&& out, Counts counts, const Options& options = {}) {
    return self().run(call::all_gather(in, out), call::with_counts(options, counts));
  }
  /// Rank r gets block r of the reduction of all ranks' vectors; blocks differ in size. In place it
  /// is as reduce_scatter, and differs from MPI_Reduce_scatter likewise.
  /// @param in all blocks, in the order of ranks. @param out own block of the result; may be the
  /// own
  ///        block of `in`. @param counts the elements of each block, equal on all ranks.
  /// @param op the operator. @param options see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome reduce_scatterv(call::In<Out> in, Out&& out, Counts counts, call::Op<Out> op = sum,
                          const Options& options = {}) {
    return self().run(call::reduce_scatter(in, out, op.get()), call::with_counts(options, counts));
  }
  /// Rank r gets block r of every rank's vector; blocks differ in size, and a rank knows its own.
  /// @param in one block for every rank. @param in_counts the elements of each. @param out one
  ///        block from every rank; the same as the input, as of all_to_all, or one that does not
  ///        overlap. @param out_counts the elements of each, as their senders say; else
  ///        Error{mismatch}, or Error{timeout} where one of the two sizes is zero. @param options
  ///        see Options. @return see Collectives.
  template <MutableElements Out>
  Outcome all_to_allv(call::In<Out> in, Counts in_counts, Out&& out, Counts out_counts,
                      const Options& options = {}) {
    return self().run(call::all_to_allv(in, in_counts, out, out_counts), options);
  }
  /// Sends elements to one rank, which calls recv or sendrecv. Only these two ranks take part, and
  /// when is between them: collectives before and after neither wait for it nor count it. Messages
  /// from a rank to another with equal tags are received in the order in which they are sent.
  /// @param in the elements, and no array that ends with the expression, since within a batch the
  ///        call begins later; the call may end before they have arrived, and does not where the
  ///        receiver has to ask for them first. @param to their receiver; may be the own rank.
  /// @param tag 0 .. kUserTags - 1, as the receiver gives. @param options see Options; there is no
  ///        algorithm, no segment and there are no counts to choose. @return see Collectives.
  template <LastingElements In>
  Outcome send(In&& in, Rank to, int tag = 0, const Options& options = {}) {
    return self().run(call::send(in, to, tag), options);
  }
  /// Receives the elements that one rank sends.
  /// @param out the elements, as many and of the same type as are sent; else Error{mismatch}.
  /// @param from their sender; may be the own rank, or, in a call that waits, any_rank.
  /// @param tag as the sender gives.
  /// @param options as of send. @return see Collectives.
  template <MutableElements Out>
  Outcome recv(Out&& out, Rank from, int tag = 0, const Options& options = {}) {
    return self().run(call::recv(out, from, tag), options);
  }
  /// Sends to one rank and receives from the same or another one, at once: ranks that do so in a
  /// ring do not wait for each other.
  /// @param in elements to send, which need not be as many as come. @param to their receiver.
  /// @param out elements to receive; the same as those to send, as of all_to_all, or ones that do
  ///        not overlap. @param from their sender. @param tag of both. @param options as of send.
  /// @return see Collectives.
  template <MutableElements Out>
  Outcome sendrecv(call::In<Out> in, Rank to, Out&& out, Rank from, int tag = 0,
                   const Options& options = {}) {
    return self().run(call::sendrecv(in, to, out, from, tag), options);
  }
  /// No rank leaves before every rank has entered.
  /// @param options see Options. @return see Collectives.
  Outcome barrier(const Options& options = {}) { return self().run(call::barrier(), options); }

  /// @cond arguments that no call can take
  template <class... A>
  requires detail::Misuse<A...>
  auto all_reduce(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto reduce(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::Misuse<A...>
  auto broadcast(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto scatter(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto gather(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto all_gather(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto reduce_scatter(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto all_to_all(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::Misuse<A...>
  auto scan(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::Misuse<A...>
  auto exscan(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto scatterv(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto gatherv(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto all_gatherv(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::Misuse<A...>
  auto reduce_scatterv(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::MisuseOfTwo<A...>
  auto all_to_allv(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::Misuse<A...>
  auto send(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::Misuse<A...>
  auto recv(A&&...) { return detail::explain_misuse<A...>(); }
  template <class... A>
  requires detail::Misuse<A...>
  auto sendrecv(A&&...) { return detail::explain_misuse<A...>(); }
  /// @endcond

 protected:
  Collectives() = default;

 private:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
};

}  // namespace tutti::v0
