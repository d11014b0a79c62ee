/// @file
/// The collectives, and messages between two ranks, as calls that only start the operation.
#pragma once

#include <tutti/blocking.hpp>
#include <tutti/request.hpp>

namespace tutti {

/// They start the operation of the same name in Blocking; arrays are tutti's until the Request
/// is done. @tparam Self the Communicator.
template <class Self>
class Nonblocking {
 public:
  /// @copydoc tutti::Blocking::all_reduce(Out&&, const Operator&, const Options&)
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request all_reduce_async(Out&& inout, const Operator& op = sum,
                                         const Options& options = {}) {
    return self().start(call::all_reduce(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::all_reduce(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request all_reduce_async(call::In<Out> in, Out&& out, const Operator& op = sum,
                                         const Options& options = {}) {
    return self().start(call::all_reduce(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::reduce
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request reduce_async(call::In<Out> in, Out&& out, Rank root = 0,
                                     const Operator& op = sum, const Options& options = {}) {
    return self().start(call::reduce(in, out, root, op), options);
  }
  /// @copydoc tutti::Blocking::broadcast
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request broadcast_async(Out&& inout, Rank root = 0, const Options& options = {}) {
    return self().start(call::broadcast(inout, root), options);
  }
  /// @copydoc tutti::Blocking::scatter
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request scatter_async(call::In<Out> in, Out&& out, Rank root = 0,
                                      const Options& options = {}) {
    return self().start(call::scatter(in, out, root), options);
  }
  /// @copydoc tutti::Blocking::gather
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request gather_async(call::In<Out> in, Out&& out, Rank root = 0,
                                     const Options& options = {}) {
    return self().start(call::gather(in, out, root), options);
  }
  /// @copydoc tutti::Blocking::all_gather
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request all_gather_async(call::In<Out> in, Out&& out, const Options& options = {}) {
    return self().start(call::all_gather(in, out), options);
  }
  /// @copydoc tutti::Blocking::reduce_scatter
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request reduce_scatter_async(call::In<Out> in, Out&& out, const Operator& op = sum,
                                             const Options& options = {}) {
    return self().start(call::reduce_scatter(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::all_to_all
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request all_to_all_async(call::In<Out> in, Out&& out, const Options& options = {}) {
    return self().start(call::all_to_all(in, out), options);
  }
  /// @copydoc tutti::Blocking::scan(Out&&, const Operator&, const Options&)
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request scan_async(Out&& inout, const Operator& op = sum,
                                   const Options& options = {}) {
    return self().start(call::scan(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::scan(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request scan_async(call::In<Out> in, Out&& out, const Operator& op = sum,
                                   const Options& options = {}) {
    return self().start(call::scan(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::exscan(Out&&, const Operator&, const Options&)
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request exscan_async(Out&& inout, const Operator& op = sum,
                                     const Options& options = {}) {
    return self().start(call::exscan(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::exscan(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request exscan_async(call::In<Out> in, Out&& out, const Operator& op = sum,
                                     const Options& options = {}) {
    return self().start(call::exscan(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::scatterv
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request scatterv_async(call::In<Out> in, Counts counts, Out&& out, Rank root = 0,
                                       const Options& options = {}) {
    return self().start(call::scatterv(in, counts, out, root), options);
  }
  /// @copydoc tutti::Blocking::gatherv
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request gatherv_async(call::In<Out> in, Out&& out, Counts counts, Rank root = 0,
                                      const Options& options = {}) {
    return self().start(call::gatherv(in, out, counts, root), options);
  }
  /// @copydoc tutti::Blocking::all_gatherv
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request all_gatherv_async(call::In<Out> in, Out&& out, Counts counts,
                                          const Options& options = {}) {
    return self().start(call::all_gather(in, out), call::with_counts(options, counts));
  }
  /// @copydoc tutti::Blocking::reduce_scatterv
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request reduce_scatterv_async(call::In<Out> in, Out&& out, Counts counts,
                                              const Operator& op = sum,
                                              const Options& options = {}) {
    return self().start(call::reduce_scatter(in, out, op), call::with_counts(options, counts));
  }
  /// @copydoc tutti::Blocking::all_to_allv
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request all_to_allv_async(call::In<Out> in, Counts in_counts, Out&& out,
                                          Counts out_counts, const Options& options = {}) {
    return self().start(call::all_to_allv(in, in_counts, out, out_counts), options);
  }
  /// @copydoc tutti::Blocking::send
  /// @return the operation under way.
  template <LastingElements In>
  [[nodiscard]] Request send_async(In&& in, Rank to, int tag = 0, const Options& options = {}) {
    return self().start(call::send(in, to, tag), options);
  }
  /// @copydoc tutti::Blocking::recv
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request recv_async(Out&& out, Rank from, int tag = 0, const Options& options = {}) {
    return self().start(call::recv(out, from, tag), options);
  }
  /// @copydoc tutti::Blocking::sendrecv
  /// @return the operation under way.
  template <MutableElements Out>
  [[nodiscard]] Request sendrecv_async(call::In<Out> in, Rank to, Out&& out, Rank from, int tag = 0,
                                       const Options& options = {}) {
    return self().start(call::sendrecv(in, to, out, from, tag), options);
  }
  /// @copydoc tutti::Blocking::barrier
  /// @return the operation under way.
  [[nodiscard]] Request barrier_async(const Options& options = {}) {
    return self().start(call::barrier(), options);
  }

 protected:
  Nonblocking() = default;

 private:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
};

}  // namespace tutti
