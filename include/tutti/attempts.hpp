/// @file
/// The collectives, and messages between two ranks, as calls that do not throw.
#pragma once

#include <tutti/blocking.hpp>
#include <tutti/error.hpp>

namespace tutti {

/// The operations of the same name in Blocking; an Error is returned instead of thrown.
/// @tparam Self the Communicator.
template <class Self>
class Attempts {
 public:
  /// @copydoc tutti::Blocking::all_reduce(Out&&, const Operator&, const Options&)
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_all_reduce(Out&& inout, const Operator& op = sum,
                                            const Options& options = {}) {
    return self().try_run(call::all_reduce(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::all_reduce(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_all_reduce(call::In<Out> in, Out&& out, const Operator& op = sum,
                                            const Options& options = {}) {
    return self().try_run(call::all_reduce(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::reduce
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_reduce(call::In<Out> in, Out&& out, Rank root = 0,
                                        const Operator& op = sum, const Options& options = {}) {
    return self().try_run(call::reduce(in, out, root, op), options);
  }
  /// @copydoc tutti::Blocking::broadcast
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_broadcast(Out&& inout, Rank root = 0,
                                           const Options& options = {}) {
    return self().try_run(call::broadcast(inout, root), options);
  }
  /// @copydoc tutti::Blocking::scatter
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_scatter(call::In<Out> in, Out&& out, Rank root = 0,
                                         const Options& options = {}) {
    return self().try_run(call::scatter(in, out, root), options);
  }
  /// @copydoc tutti::Blocking::gather
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_gather(call::In<Out> in, Out&& out, Rank root = 0,
                                        const Options& options = {}) {
    return self().try_run(call::gather(in, out, root), options);
  }
  /// @copydoc tutti::Blocking::all_gather
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_all_gather(call::In<Out> in, Out&& out,
                                            const Options& options = {}) {
    return self().try_run(call::all_gather(in, out), options);
  }
  /// @copydoc tutti::Blocking::reduce_scatter
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_reduce_scatter(call::In<Out> in, Out&& out,
                                                const Operator& op = sum,
                                                const Options& options = {}) {
    return self().try_run(call::reduce_scatter(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::all_to_all
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_all_to_all(call::In<Out> in, Out&& out,
                                            const Options& options = {}) {
    return self().try_run(call::all_to_all(in, out), options);
  }
  /// @copydoc tutti::Blocking::scan(Out&&, const Operator&, const Options&)
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_scan(Out&& inout, const Operator& op = sum,
                                      const Options& options = {}) {
    return self().try_run(call::scan(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::scan(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_scan(call::In<Out> in, Out&& out, const Operator& op = sum,
                                      const Options& options = {}) {
    return self().try_run(call::scan(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::exscan(Out&&, const Operator&, const Options&)
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_exscan(Out&& inout, const Operator& op = sum,
                                        const Options& options = {}) {
    return self().try_run(call::exscan(inout, inout, op), options);
  }
  /// @copydoc tutti::Blocking::exscan(call::In<Out>, Out&&, const Operator&, const Options&)
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_exscan(call::In<Out> in, Out&& out, const Operator& op = sum,
                                        const Options& options = {}) {
    return self().try_run(call::exscan(in, out, op), options);
  }
  /// @copydoc tutti::Blocking::scatterv
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_scatterv(call::In<Out> in, Counts counts, Out&& out, Rank root = 0,
                                          const Options& options = {}) {
    return self().try_run(call::scatterv(in, counts, out, root), options);
  }
  /// @copydoc tutti::Blocking::gatherv
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_gatherv(call::In<Out> in, Out&& out, Counts counts, Rank root = 0,
                                         const Options& options = {}) {
    return self().try_run(call::gatherv(in, out, counts, root), options);
  }
  /// @copydoc tutti::Blocking::all_gatherv
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_all_gatherv(call::In<Out> in, Out&& out, Counts counts,
                                             const Options& options = {}) {
    return self().try_run(call::all_gather(in, out), call::with_counts(options, counts));
  }
  /// @copydoc tutti::Blocking::reduce_scatterv
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_reduce_scatterv(call::In<Out> in, Out&& out, Counts counts,
                                                 const Operator& op = sum,
                                                 const Options& options = {}) {
    return self().try_run(call::reduce_scatter(in, out, op), call::with_counts(options, counts));
  }
  /// @copydoc tutti::Blocking::all_to_allv
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_all_to_allv(call::In<Out> in, Counts in_counts, Out&& out,
                                             Counts out_counts, const Options& options = {}) {
    return self().try_run(call::all_to_allv(in, in_counts, out, out_counts), options);
  }
  /// @copydoc tutti::Blocking::send
  /// @return nothing, or the Error.
  template <LastingElements In>
  [[nodiscard]] Result<void> try_send(In&& in, Rank to, int tag = 0, const Options& options = {}) {
    return self().try_run(call::send(in, to, tag), options);
  }
  /// @copydoc tutti::Blocking::recv
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_recv(Out&& out, Rank from, int tag = 0,
                                      const Options& options = {}) {
    return self().try_run(call::recv(out, from, tag), options);
  }
  /// @copydoc tutti::Blocking::sendrecv
  /// @return nothing, or the Error.
  template <MutableElements Out>
  [[nodiscard]] Result<void> try_sendrecv(call::In<Out> in, Rank to, Out&& out, Rank from,
                                          int tag = 0, const Options& options = {}) {
    return self().try_run(call::sendrecv(in, to, out, from, tag), options);
  }
  /// @copydoc tutti::Blocking::barrier
  /// @return nothing, or the Error.
  [[nodiscard]] Result<void> try_barrier(const Options& options = {}) {
    return self().try_run(call::barrier(), options);
  }

 protected:
  Attempts() = default;

 private:
  [[nodiscard]] Self& self() noexcept { return static_cast<Self&>(*this); }
};

}  // namespace tutti
