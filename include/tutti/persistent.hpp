/// @file
/// The collectives, and messages between two ranks, as operations that are prepared once and run
/// often.
#pragma once

#include <tutti/blocking.hpp>
#include <tutti/request.hpp>

namespace tutti {

/// They prepare the operation of the same name in Blocking; Plan::start runs it, again and
/// again. @tparam Self the Communicator.
template <class Self>
class Persistent {
 public:
  /// @copydoc tutti::Blocking::all_reduce(Out&&, const Operator&, const Options&)
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_all_reduce(Out&& inout, const Operator& op = sum,
                                     const Options& options = {}) {
    return self().plan(call::all_reduce(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::all_reduce(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_all_reduce(call::In<Out> in, Out&& out, const Operator& op = sum,
                                     const Options& options = {}) {
    return self().plan(call::all_reduce(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::reduce
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_reduce(call::In<Out> in, Out&& out, Rank root = 0,
                                 const Operator& op = sum, const Options& options = {}) {
    return self().plan(call::reduce(in, out, root, op), options);
  }
  /// @copydoc tutti::Blocking::broadcast
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_broadcast(Out&& inout, Rank root = 0, const Options& options = {}) {
    return self().plan(call::broadcast(inout, root), options);
  }
  /// @copydoc tutti::Blocking::scatter
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_scatter(call::In<Out> in, Out&& out, Rank root = 0,
                                  const Options& options = {}) {
    return self().plan(call::scatter(in, out, root), options);
  }
  /// @copydoc tutti::Blocking::gather
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_gather(call::In<Out> in, Out&& out, Rank root = 0,
                                 const Options& options = {}) {
    return self().plan(call::gather(in, out, root), options);
  }
  /// @copydoc tutti::Blocking::all_gather
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_all_gather(call::In<Out> in, Out&& out, const Options& options = {}) {
    return self().plan(call::all_gather(in, out), options);
  }
  /// @copydoc tutti::Blocking::reduce_scatter
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_reduce_scatter(call::In<Out> in, Out&& out, const Operator& op = sum,
                                         const Options& options = {}) {
    return self().plan(call::reduce_scatter(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::all_to_all
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_all_to_all(call::In<Out> in, Out&& out, const Options& options = {}) {
    return self().plan(call::all_to_all(in, out), options);
  }
  /// @copydoc tutti::Blocking::scan(Out&&, const Operator&, const Options&)
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_scan(Out&& inout, const Operator& op = sum, const Options& options = {}) {
    return self().plan(call::scan(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::scan(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_scan(call::In<Out> in, Out&& out, const Operator& op = sum,
                               const Options& options = {}) {
    return self().plan(call::scan(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::exscan(Out&&, const Operator&, const Options&)
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_exscan(Out&& inout, const Operator& op = sum,
                                 const Options& options = {}) {
    return self().plan(call::exscan(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::exscan(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_exscan(call::In<Out> in, Out&& out, const Operator& op = sum,
                                 const Options& options = {}) {
    return self().plan(call::exscan(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::scatterv
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_scatterv(call::In<Out> in, Counts counts, Out&& out, Rank root = 0,
                                   const Options& options = {}) {
    return self().plan(call::scatterv(in, counts, out, root), options);
  }
  /// @copydoc tutti::Blocking::gatherv
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_gatherv(call::In<Out> in, Out&& out, Counts counts, Rank root = 0,
                                  const Options& options = {}) {
    return self().plan(call::gatherv(in, out, counts, root), options);
  }
  /// @copydoc tutti::Blocking::all_gatherv
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_all_gatherv(call::In<Out> in, Out&& out, Counts counts,
                                      const Options& options = {}) {
    return self().plan(call::all_gather(in, out), call::with_counts(options, counts));
  }
  /// @copydoc tutti::Blocking::reduce_scatterv
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_reduce_scatterv(call::In<Out> in, Out&& out, Counts counts,
                                          const Operator& op = sum, const Options& options = {}) {
    return self().plan(call::reduce_scatter(in, out, op), call::with_counts(options, counts));
  }
  /// @copydoc tutti::Blocking::all_to_allv
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_all_to_allv(call::In<Out> in, Counts in_counts, Out&& out,
                                      Counts out_counts, const Options& options = {}) {
    return self().plan(call::all_to_allv(in, in_counts, out, out_counts), options);
  }
  /// @copydoc tutti::Blocking::send
  /// @return the prepared operation.
  template <LastingElements In>
  [[nodiscard]] Plan plan_send(In&& in, Rank to, int tag = 0, const Options& options = {}) {
    return self().plan(call::send(in, to, tag), options);
  }
  /// @copydoc tutti::Blocking::recv
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_recv(Out&& out, Rank from, int tag = 0, const Options& options = {}) {
    return self().plan(call::recv(out, from, tag), options);
  }
  /// @copydoc tutti::Blocking::sendrecv
  /// @return the prepared operation.
  template <MutableElements Out>
  [[nodiscard]] Plan plan_sendrecv(call::In<Out> in, Rank to, Out&& out, Rank from, int tag = 0,
                                   const Options& options = {}) {
    return self().plan(call::sendrecv(in, to, out, from, tag), options);
  }
  /// @copydoc tutti::Blocking::barrier
  /// @return the prepared operation.
  [[nodiscard]] Plan plan_barrier(const Options& options = {}) {
    return self().plan(call::barrier(), options);
  }

 protected:
  Persistent() = default;

 private:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
};

}  // namespace tutti
