/// @file
/// The communicator: a group of ranks and the collectives among them.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include <tutti/algorithm.hpp>
#include <tutti/buffer.hpp>
#include <tutti/call.hpp>
#include <tutti/error.hpp>
#include <tutti/group.hpp>
#include <tutti/memory.hpp>
#include <tutti/request.hpp>
#include <tutti/transport.hpp>

namespace tutti {

/// What a communicator is made with. Equal on all ranks.
struct CommunicatorOptions {
  Duration timeout = std::chrono::seconds{300};  ///< Deadline of an operation without its own.
  int segments_in_flight = 4;                    ///< Segments of one operation under way, 1 .. 8.
  /// Schedules and bound programs kept for reuse, and as much again of scratch memory. What was
  /// used last stays, whatever its size. Pending operations and plans have what they need beside
  /// it.
  std::size_t cache_bytes = 64_MiB;
};

/// What a rank gives to Communicator::split that wants to be in no part.
struct NoColor {};
/// The value of NoColor.
inline constexpr NoColor no_color{};

/// A group of ranks. Every rank calls the same collectives in the same order with matching
/// arguments; if not, the ranks get Error{mismatch} or Error{timeout}, never wrong numbers. Throws
/// Error{invalid_argument} from the call, with no effect, for arguments that are wrong by
/// themselves. After any other Error the communicator stays failed with that first cause.
/// Move-only. One thread at a time; different communicators run concurrently.
class Communicator {
 public:
  /// Makes a communicator. @param transport connects its ranks. @param memory where its buffers
  /// lie. @param options equal on all ranks. @return the communicator.
  [[nodiscard]] static Communicator create(std::unique_ptr<Transport> transport,
                                           std::shared_ptr<Memory> memory,
                                           const CommunicatorOptions& options = {}) {
    return create(Footing{std::move(transport), nullptr}, std::move(memory), options);
  }
  /// Makes a communicator that can be divided. @param footing its ranks. @param memory where its
  /// buffers lie. @param options equal on all ranks. @return the communicator.
  [[nodiscard]] static Communicator create(Footing footing, std::shared_ptr<Memory> memory,
                                           const CommunicatorOptions& options = {});
  /// Takes the group over. @param other is empty afterwards.
  Communicator(Communicator&& other) noexcept;
  /// Takes the group over. @param other is empty afterwards. @return this.
  Communicator& operator=(Communicator&& other) noexcept;
  /// Releases the transport once no Request or Plan refers to it. Does not block, but the last of a
  /// world waits until other hosts have what was sent, unless one takes nothing for
  /// InitOptions::heartbeat_timeout, since its program computes: that one may then lose it.
  ~Communicator();

  /// @return the own rank.
  [[nodiscard]] Rank rank() const noexcept;
  /// @return the number of ranks.
  [[nodiscard]] int size() const noexcept;
  /// @return the transport underneath.
  [[nodiscard]] Transport& transport() noexcept;

  /// @return one line for a person: the ranks, how they were found, what connects them.
  [[nodiscard]] std::string describe() const;

  /// Makes a communicator of some of the ranks; the others do not take part. Where tutti's own
  /// transports connect the ranks this is a local operation, so that overlapping groups may be made
  /// in any order; members that name the same ranks for the k-th time get the same group. Over MPI
  /// it is collective over the members.
  /// @param members distinct ranks, the own one among them, which become ranks 0, 1, ... in this
  /// order. Equal on all of them. @return the communicator. Throws Error.
  [[nodiscard]] Communicator group(std::span<const Rank> members);
  /// @copydoc group(std::span<const Rank>)
  [[nodiscard]] Communicator group(std::initializer_list<Rank> members) {
    return group(std::span{members.begin(), members.size()});
  }
  /// @copydoc group(std::span<const Rank>)
  [[nodiscard]] Result<Communicator> try_group(std::span<const Rank> members) noexcept;
  /// Divides the ranks by color. Collective.
  /// @param color any; ranks that give the same one are together. @param key orders the ranks of a
  /// color; those of equal keys stay in their order. @return the communicator of the own color.
  [[nodiscard]] Communicator split(int color, int key = 0);
  /// Takes part in a split without wanting a communicator.
  void split(NoColor);
  /// @copydoc split(int, int)
  [[nodiscard]] Result<Communicator> try_split(int color, int key = 0) noexcept;
  /// Allocates elements where the ranks of the own host see them, if there is such memory; see
  /// Buffer. Local. @tparam T their type. @param count how many. @return them, zeroed. Throws
  /// std::bad_alloc.
  template <class T>
  [[nodiscard]] Buffer<T> allocate(std::size_t count) {
    const Place place = place_of_buffers();
    return Buffer<T>{place.memory, count, place.is_visible};
  }

  /// Every rank gets the reduction of all ranks' vectors, in place.
  /// @param inout own vector, then the result; as many elements on all ranks.
  /// @param op the operator. @param options see Options.
  template <class T, std::size_t E>
  void all_reduce(std::span<T, E> inout, const Operator& op = sum, const Options& options = {}) {
    run(call::all_reduce<T>(inout, inout, op), options);
  }
  /// Every rank gets the reduction of all ranks' vectors.
  /// @param in own vector; as many elements on all ranks. @param out the result; the same span, or
  ///        one that does not overlap.
  /// @param op the operator. @param options see Options.
  template <class T, std::size_t E>
  void all_reduce(call::In<T> in, std::span<T, E> out, const Operator& op = sum,
                  const Options& options = {}) {
    run(call::all_reduce<T>(in, out, op), options);
  }
  /// The root gets the reduction of all ranks' vectors.
  /// @param in own vector; as many elements on all ranks. @param out the result at the root,
  /// ignored
  ///        elsewhere. @param root its rank. @param op the operator. @param options see Options.
  template <class T, std::size_t E>
  void reduce(call::In<T> in, std::span<T, E> out, Rank root = 0, const Operator& op = sum,
              const Options& options = {}) {
    run(call::reduce<T>(in, out, root, op), options);
  }
  /// Every rank gets the root's vector.
  /// @param inout the vector; as many elements on all ranks. @param root the rank that has it.
  /// @param options see Options.
  template <class T, std::size_t E>
  void broadcast(std::span<T, E> inout, Rank root = 0, const Options& options = {}) {
    run(call::broadcast<T>(inout, root), options);
  }
  /// Rank r gets block r of the root's vector.
  /// @param in at the root all blocks in the order of ranks, ignored elsewhere. @param out own
  ///        block; may be block `root` of `in`. @param root the rank that has them.
  /// @param options see Options.
  template <class T, std::size_t E>
  void scatter(call::In<T> in, std::span<T, E> out, Rank root = 0, const Options& options = {}) {
    run(call::scatter<T>(in, out, root), options);
  }
  /// Every rank gets all ranks' blocks, in the order of ranks.
  /// @param in own block; may be the own block of `out`. @param out all blocks.
  /// @param options see Options.
  template <class T, std::size_t E>
  void all_gather(call::In<T> in, std::span<T, E> out, const Options& options = {}) {
    run(call::all_gather<T>(in, out), options);
  }
  /// Rank r gets block r of the reduction of all ranks' vectors.
  /// @param in all blocks, in the order of ranks. @param out own block of the result; may be the
  /// own
  ///        block of `in`. @param op the operator. @param options see Options.
  template <class T, std::size_t E>
  void reduce_scatter(call::In<T> in, std::span<T, E> out, const Operator& op = sum,
                      const Options& options = {}) {
    run(call::reduce_scatter<T>(in, out, op), options);
  }
  /// Rank r gets block r of every rank's vector, in the order of ranks.
  /// @param in one block for every rank. @param out one block from every rank; no overlap.
  /// @param options see Options.
  template <class T, std::size_t E>
  void all_to_all(call::In<T> in, std::span<T, E> out, const Options& options = {}) {
    run(call::all_to_all<T>(in, out), options);
  }
  /// No rank leaves before every rank has entered.
  /// @param options see Options.
  void barrier(const Options& options = {}) { run(call::barrier(), options); }

  /// @name Nonblocking calls
  /// They start the operation of the same name; buffers are tutti's until the Request is done.
  /// @{

  /// @copydoc all_reduce(std::span<T, E>, const Operator&, const Options&)
  /// @return the operation under way.
  template <class T, std::size_t E>
  [[nodiscard]] Request all_reduce_async(std::span<T, E> inout, const Operator& op = sum,
                                         const Options& options = {}) {
    return start(call::all_reduce<T>(inout, inout, op), options);
  }
  /// @copydoc all_reduce(call::In<T>, std::span<T, E>, const Operator&, const Options&)
  /// @return the operation under way.
  template <class T, std::size_t E>
  [[nodiscard]] Request all_reduce_async(call::In<T> in, std::span<T, E> out,
                                         const Operator& op = sum, const Options& options = {}) {
    return start(call::all_reduce<T>(in, out, op), options);
  }
  /// @copydoc reduce
  /// @return the operation under way.
  template <class T, std::size_t E>
  [[nodiscard]] Request reduce_async(call::In<T> in, std::span<T, E> out, Rank root = 0,
                                     const Operator& op = sum, const Options& options = {}) {
    return start(call::reduce<T>(in, out, root, op), options);
  }
  /// @copydoc broadcast
  /// @return the operation under way.
  template <class T, std::size_t E>
  [[nodiscard]] Request broadcast_async(std::span<T, E> inout, Rank root = 0,
                                        const Options& options = {}) {
    return start(call::broadcast<T>(inout, root), options);
  }
  /// @copydoc scatter
  /// @return the operation under way.
  template <class T, std::size_t E>
  [[nodiscard]] Request scatter_async(call::In<T> in, std::span<T, E> out, Rank root = 0,
                                      const Options& options = {}) {
    return start(call::scatter<T>(in, out, root), options);
  }
  /// @copydoc all_gather
  /// @return the operation under way.
  template <class T, std::size_t E>
  [[nodiscard]] Request all_gather_async(call::In<T> in, std::span<T, E> out,
                                         const Options& options = {}) {
    return start(call::all_gather<T>(in, out), options);
  }
  /// @copydoc reduce_scatter
  /// @return the operation under way.
  template <class T, std::size_t E>
  [[nodiscard]] Request reduce_scatter_async(call::In<T> in, std::span<T, E> out,
                                             const Operator& op = sum,
                                             const Options& options = {}) {
    return start(call::reduce_scatter<T>(in, out, op), options);
  }
  /// @copydoc all_to_all
  /// @return the operation under way.
  template <class T, std::size_t E>
  [[nodiscard]] Request all_to_all_async(call::In<T> in, std::span<T, E> out,
                                         const Options& options = {}) {
    return start(call::all_to_all<T>(in, out), options);
  }
  /// @copydoc barrier
  /// @return the operation under way.
  [[nodiscard]] Request barrier_async(const Options& options = {}) {
    return start(call::barrier(), options);
  }
  /// @}

  /// @name Persistent calls
  /// They prepare the operation of the same name; Plan::start runs it, again and again.
  /// @{

  /// @copydoc all_reduce(std::span<T, E>, const Operator&, const Options&)
  /// @return the prepared operation.
  template <class T, std::size_t E>
  [[nodiscard]] Plan plan_all_reduce(std::span<T, E> inout, const Operator& op = sum,
                                     const Options& options = {}) {
    return plan(call::all_reduce<T>(inout, inout, op), options);
  }
  /// @copydoc all_reduce(call::In<T>, std::span<T, E>, const Operator&, const Options&)
  /// @return the prepared operation.
  template <class T, std::size_t E>
  [[nodiscard]] Plan plan_all_reduce(call::In<T> in, std::span<T, E> out, const Operator& op = sum,
                                     const Options& options = {}) {
    return plan(call::all_reduce<T>(in, out, op), options);
  }
  /// @copydoc reduce
  /// @return the prepared operation.
  template <class T, std::size_t E>
  [[nodiscard]] Plan plan_reduce(call::In<T> in, std::span<T, E> out, Rank root = 0,
                                 const Operator& op = sum, const Options& options = {}) {
    return plan(call::reduce<T>(in, out, root, op), options);
  }
  /// @copydoc broadcast
  /// @return the prepared operation.
  template <class T, std::size_t E>
  [[nodiscard]] Plan plan_broadcast(std::span<T, E> inout, Rank root = 0,
                                    const Options& options = {}) {
    return plan(call::broadcast<T>(inout, root), options);
  }
  /// @copydoc scatter
  /// @return the prepared operation.
  template <class T, std::size_t E>
  [[nodiscard]] Plan plan_scatter(call::In<T> in, std::span<T, E> out, Rank root = 0,
                                  const Options& options = {}) {
    return plan(call::scatter<T>(in, out, root), options);
  }
  /// @copydoc all_gather
  /// @return the prepared operation.
  template <class T, std::size_t E>
  [[nodiscard]] Plan plan_all_gather(call::In<T> in, std::span<T, E> out,
                                     const Options& options = {}) {
    return plan(call::all_gather<T>(in, out), options);
  }
  /// @copydoc reduce_scatter
  /// @return the prepared operation.
  template <class T, std::size_t E>
  [[nodiscard]] Plan plan_reduce_scatter(call::In<T> in, std::span<T, E> out,
                                         const Operator& op = sum, const Options& options = {}) {
    return plan(call::reduce_scatter<T>(in, out, op), options);
  }
  /// @copydoc all_to_all
  /// @return the prepared operation.
  template <class T, std::size_t E>
  [[nodiscard]] Plan plan_all_to_all(call::In<T> in, std::span<T, E> out,
                                     const Options& options = {}) {
    return plan(call::all_to_all<T>(in, out), options);
  }
  /// @copydoc barrier
  /// @return the prepared operation.
  [[nodiscard]] Plan plan_barrier(const Options& options = {}) {
    return plan(call::barrier(), options);
  }
  /// @}

  /// @name Calls that do not throw
  /// The operation of the same name; an Error is returned instead of thrown.
  /// @{

  /// @copydoc all_reduce(std::span<T, E>, const Operator&, const Options&)
  /// @return nothing, or the Error.
  template <class T, std::size_t E>
  [[nodiscard]] Result<void> try_all_reduce(std::span<T, E> inout, const Operator& op = sum,
                                            const Options& options = {}) {
    return try_run(call::all_reduce<T>(inout, inout, op), options);
  }
  /// @copydoc all_reduce(call::In<T>, std::span<T, E>, const Operator&, const Options&)
  /// @return nothing, or the Error.
  template <class T, std::size_t E>
  [[nodiscard]] Result<void> try_all_reduce(call::In<T> in, std::span<T, E> out,
                                            const Operator& op = sum, const Options& options = {}) {
    return try_run(call::all_reduce<T>(in, out, op), options);
  }
  /// @copydoc reduce
  /// @return nothing, or the Error.
  template <class T, std::size_t E>
  [[nodiscard]] Result<void> try_reduce(call::In<T> in, std::span<T, E> out, Rank root = 0,
                                        const Operator& op = sum, const Options& options = {}) {
    return try_run(call::reduce<T>(in, out, root, op), options);
  }
  /// @copydoc broadcast
  /// @return nothing, or the Error.
  template <class T, std::size_t E>
  [[nodiscard]] Result<void> try_broadcast(std::span<T, E> inout, Rank root = 0,
                                           const Options& options = {}) {
    return try_run(call::broadcast<T>(inout, root), options);
  }
  /// @copydoc scatter
  /// @return nothing, or the Error.
  template <class T, std::size_t E>
  [[nodiscard]] Result<void> try_scatter(call::In<T> in, std::span<T, E> out, Rank root = 0,
                                         const Options& options = {}) {
    return try_run(call::scatter<T>(in, out, root), options);
  }
  /// @copydoc all_gather
  /// @return nothing, or the Error.
  template <class T, std::size_t E>
  [[nodiscard]] Result<void> try_all_gather(call::In<T> in, std::span<T, E> out,
                                            const Options& options = {}) {
    return try_run(call::all_gather<T>(in, out), options);
  }
  /// @copydoc reduce_scatter
  /// @return nothing, or the Error.
  template <class T, std::size_t E>
  [[nodiscard]] Result<void> try_reduce_scatter(call::In<T> in, std::span<T, E> out,
                                                const Operator& op = sum,
                                                const Options& options = {}) {
    return try_run(call::reduce_scatter<T>(in, out, op), options);
  }
  /// @copydoc all_to_all
  /// @return nothing, or the Error.
  template <class T, std::size_t E>
  [[nodiscard]] Result<void> try_all_to_all(call::In<T> in, std::span<T, E> out,
                                            const Options& options = {}) {
    return try_run(call::all_to_all<T>(in, out), options);
  }
  /// @copydoc barrier
  /// @return nothing, or the Error.
  [[nodiscard]] Result<void> try_barrier(const Options& options = {}) {
    return try_run(call::barrier(), options);
  }
  /// @}

  /// Runs a call to its end. @param call what. @param options see Options.
  void run(const Call& call, const Options& options = {});
  /// Starts a call. @param call what. @param options see Options. @return its handle.
  [[nodiscard]] Request start(const Call& call, const Options& options = {});
  /// Prepares a call. @param call what. @param options see Options. @return the prepared call.
  [[nodiscard]] Plan plan(const Call& call, const Options& options = {});
  /// Runs a call to its end. @param call what. @param options see Options. @return the outcome.
  [[nodiscard]] Result<void> try_run(const Call& call, const Options& options = {}) noexcept;
  /// Starts a call. @param call what. @param options see Options. @return its handle, or the Error.
  [[nodiscard]] Result<Request> try_start(const Call& call, const Options& options = {}) noexcept;
  /// Prepares a call. @param call what. @param options see Options. @return the prepared call, or
  /// the Error.
  [[nodiscard]] Result<Plan> try_plan(const Call& call, const Options& options = {}) noexcept;
  /// What a call would run, every candidate's predicted time, and why the others were left out.
  /// @param call what. @param options see Options. @return lines of text for a person.
  [[nodiscard]] std::string explain(const Call& call, const Options& options = {});

 private:
  struct Place {
    std::shared_ptr<Memory> memory;
    bool is_visible;
  };
  explicit Communicator(std::shared_ptr<detail::Engine> engine) noexcept;
  [[nodiscard]] Place place_of_buffers() const;
  std::shared_ptr<detail::Engine> engine_;
};

}  // namespace tutti
