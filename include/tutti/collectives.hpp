/// @file
/// The collectives, and messages between two ranks. Each is declared once, for every form of
/// a call.
#pragma once

#include <cstddef>

#include <tutti/call.hpp>
#include <tutti/misuse.hpp>

namespace tutti::v0 {

/// The collectives of a Communicator, on arrays. An array is any MutableElements: a span, a vector,
/// an array, a Buffer. If one rank passes a Buffer of Communicator::allocate, all ranks must, since
/// the algorithm is chosen for such memory then. An operator is one of tutti's, such as `max`, a
/// user's Operator, or a function of two elements such as std::plus or a lambda; see
/// ElementOperator.
///
/// The class decides how the call runs:
///
/// | call | returns | arrays are in use until |
/// |---|---|---|
/// | `world.all_reduce(x)` | nothing, when the operation has ended | it returns |
/// | `world.try_().all_reduce(x)` | a Result<void>: nothing, or the Error | it returns |
/// | `world.async().all_reduce(x)` | the Request of an operation under way | that is done |
/// | `world.plan().all_reduce(x)` | a Plan, which can be started again and again | its run is done
/// |
///
/// All calls take Options, and reductions an operator. In rooted collectives `root` is equal on all
/// ranks. "Own block of x" is block rank() of x.
/// @tparam Self has `Outcome run(const Call&, const Options&)`.
template <class Self, class Outcome>
class Collectives {
 public:
  /// Every rank gets the reduction of all ranks' vectors, in place.
  /// @param inout own vector, then the result; equally many elements on all ranks.
  template <MutableElements Out>
  Outcome all_reduce(Out&& inout, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::all_reduce(inout, inout, op.get()), options);
  }
  /// Every rank gets the reduction of all ranks' vectors.
  /// @param in own vector; equally many elements on all ranks.
  /// @param out the result; the same span as `in`, or one that does not overlap.
  template <MutableElements Out>
  Outcome all_reduce(call::In<Out> in, Out&& out, call::Op<Out> op = sum,
                     const Options& options = {}) {
    return self().run(call::all_reduce(in, out, op.get()), options);
  }
  /// The root gets the reduction of all ranks' vectors.
  /// @param in own vector; equally many elements on all ranks.
  /// @param out the result at the root, ignored elsewhere.
  template <MutableElements Out>
  Outcome reduce(call::In<Out> in, Out&& out, call::Op<Out> op = sum, Rank root = 0,
                 const Options& options = {}) {
    return self().run(call::reduce(in, out, op.get(), root), options);
  }
  /// Every rank gets the root's vector.
  /// @param inout the vector; equally many elements on all ranks.
  template <MutableElements Out>
  Outcome broadcast(Out&& inout, Rank root = 0, const Options& options = {}) {
    return self().run(call::broadcast(inout, root), options);
  }
  /// Rank r gets block r of the root's vector.
  /// @param in at the root all blocks in the order of ranks, ignored elsewhere.
  /// @param out own block; may be block `root` of `in`.
  template <MutableElements Out>
  Outcome scatter(call::In<Out> in, Out&& out, Rank root = 0, const Options& options = {}) {
    return self().run(call::scatter(in, out, root), options);
  }
  /// The root gets all ranks' blocks, in the order of ranks.
  /// @param in own block; at the root it may be the own block of `out`.
  /// @param out at the root all blocks, ignored elsewhere.
  template <MutableElements Out>
  Outcome gather(call::In<Out> in, Out&& out, Rank root = 0, const Options& options = {}) {
    return self().run(call::gather(in, out, root), options);
  }
  /// Every rank gets all ranks' blocks, in the order of ranks.
  /// @param in own block; may be the own block of `out`.
  template <MutableElements Out>
  Outcome all_gather(call::In<Out> in, Out&& out, const Options& options = {}) {
    return self().run(call::all_gather(in, out), options);
  }
  /// Rank r gets block r of the reduction of all ranks' vectors. In place the result replaces the
  /// own block, and the other blocks do not change. MPI_Reduce_scatter_block with MPI_IN_PLACE
  /// stores it at the start of the receive buffer instead: a ported program must read block r, not
  /// the first.
  /// @param in all blocks, in the order of ranks.
  /// @param out own block of the result; may be the own block of `in`.
  template <MutableElements Out>
  Outcome reduce_scatter(call::In<Out> in, Out&& out, call::Op<Out> op = sum,
                         const Options& options = {}) {
    return self().run(call::reduce_scatter(in, out, op.get()), options);
  }
  /// Rank r gets block r of every rank's vector, in the order of ranks.
  /// @param in one block for every rank.
  /// @param out one block from every rank; the same as the input, which is then copied first, or
  /// one that does not overlap.
  template <MutableElements Out>
  Outcome all_to_all(call::In<Out> in, Out&& out, const Options& options = {}) {
    return self().run(call::all_to_all(in, out), options);
  }
  /// Every rank gets the reduction of the vectors of all ranks up to its own, in place.
  /// @param inout own vector, then the result; equally many elements on all ranks.
  /// @param op any operator but average.
  template <MutableElements Out>
  Outcome scan(Out&& inout, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::scan(inout, inout, op.get()), options);
  }
  /// Every rank gets the reduction of the vectors of all ranks up to its own.
  /// @param in own vector; equally many elements on all ranks.
  /// @param out the result; the same array as `in`, or one that does not overlap.
  /// @param op any operator but average.
  template <MutableElements Out>
  Outcome scan(call::In<Out> in, Out&& out, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::scan(in, out, op.get()), options);
  }
  /// Every rank gets the reduction of the vectors of all ranks before it, in place. The vector of
  /// rank 0 does not change.
  /// @param inout own vector, then the result; equally many elements on all ranks.
  /// @param op any operator but average.
  template <MutableElements Out>
  Outcome exscan(Out&& inout, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::exscan(inout, inout, op.get()), options);
  }
  /// Every rank but rank 0 gets the reduction of the vectors of all ranks before it.
  /// @param in own vector; equally many elements on all ranks.
  /// @param out the result; the same array as `in`, or one that does not overlap; ignored at rank
  /// 0.
  /// @param op any operator but average.
  template <MutableElements Out>
  Outcome exscan(call::In<Out> in, Out&& out, call::Op<Out> op = sum, const Options& options = {}) {
    return self().run(call::exscan(in, out, op.get()), options);
  }
  /// Rank r gets block r of the root's vector. Blocks differ in size, and only the root knows all
  /// sizes.
  /// @param in at the root all blocks in the order of ranks, ignored elsewhere.
  /// @param counts at the root the elements of each block, ignored elsewhere.
  /// @param out own block; may be that block of `in`. A size other than the root's is
  /// Error{mismatch}, or Error{timeout} if one of the two is zero.
  template <MutableElements Out>
  Outcome scatterv(call::In<Out> in, Counts counts, Out&& out, Rank root = 0,
                   const Options& options = {}) {
    return self().run(call::scatterv(in, counts, out, root), options);
  }
  /// The root gets all ranks' blocks. Blocks differ in size, and only the root knows all sizes.
  /// @param in own block; at the root it may be the own block of `out`.
  /// @param out at the root all blocks in the order of ranks, ignored elsewhere.
  /// @param counts at the root the elements of each block, ignored elsewhere.
  template <MutableElements Out>
  Outcome gatherv(call::In<Out> in, Out&& out, Counts counts, Rank root = 0,
                  const Options& options = {}) {
    return self().run(call::gatherv(in, out, counts, root), options);
  }
  /// Every rank gets all ranks' blocks, which differ in size, in the order of ranks.
  /// @param in own block; may be the own block of `out`.
  /// @param counts the elements of each block, equal on all ranks.
  template <MutableElements Out>
  Outcome all_gatherv(call::In<Out> in, Out&& out, Counts counts, const Options& options = {}) {
    return self().run(call::all_gather(in, out), call::with_counts(options, counts));
  }
  /// Rank r gets block r of the reduction of all ranks' vectors; blocks differ in size. In place it
  /// works as reduce_scatter, and differs from MPI_Reduce_scatter in the same way.
  /// @param in all blocks, in the order of ranks.
  /// @param out own block of the result; may be the own block of `in`.
  /// @param counts the elements of each block, equal on all ranks.
  template <MutableElements Out>
  Outcome reduce_scatterv(call::In<Out> in, Out&& out, Counts counts, call::Op<Out> op = sum,
                          const Options& options = {}) {
    return self().run(call::reduce_scatter(in, out, op.get()), call::with_counts(options, counts));
  }
  /// Rank r gets block r of every rank's vector. Blocks differ in size, and a rank knows its own
  /// sizes.
  /// @param in one block for every rank.
  /// @param out one block from every rank; the same as the input, which is then copied first, or
  /// one that does not overlap.
  /// @param out_counts the elements of each received block. Other sizes than the senders' are
  /// Error{mismatch}, or Error{timeout} if one of the two is zero.
  template <MutableElements Out>
  Outcome all_to_allv(call::In<Out> in, Counts in_counts, Out&& out, Counts out_counts,
                      const Options& options = {}) {
    return self().run(call::all_to_allv(in, in_counts, out, out_counts), options);
  }
  /// Sends elements to one rank, which calls recv or sendrecv. Only these two ranks take part:
  /// collectives before and after do not wait for the message. Messages from one rank to another
  /// with equal tags are received in the order in which they are sent. The call may end before they
  /// have arrived. It waits for the receiver if the receiver must ask for the elements.
  /// @param in the elements; no temporary, since a batch starts the call later.
  /// @param to the receiver; may be the own rank.
  /// @param tag 0 .. kUserTags - 1, equal to the receiver's.
  /// @param options there are no algorithms, segments or counts.
  template <LastingElements In>
  Outcome send(In&& in, Rank to, int tag = 0, const Options& options = {}) {
    return self().run(call::send(in, to, tag), options);
  }
  /// Receives the elements that one rank sends.
  /// @param out the elements; another number or type than the sender's is Error{mismatch}.
  /// @param from the sender; may be the own rank, or, in a blocking call, any_rank.
  /// @param tag equal to the sender's. @param options as of send.
  template <MutableElements Out>
  Outcome recv(Out&& out, Rank from, int tag = 0, const Options& options = {}) {
    return self().run(call::recv(out, from, tag), options);
  }
  /// Sends to one rank and receives from the same or another one at once, so ranks that do so in a
  /// ring do not wait for each other.
  /// @param in elements to send; their number may differ from that of `out`.
  /// @param out elements to receive; the same as those to send, which are then copied first, or
  /// ones that do not overlap.
  /// @param tag of both messages. @param options as of send.
  template <MutableElements Out>
  Outcome sendrecv(call::In<Out> in, Rank to, Out&& out, Rank from, int tag = 0,
                   const Options& options = {}) {
    return self().run(call::sendrecv(in, to, out, from, tag), options);
  }
  /// No rank leaves before every rank has entered.
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
