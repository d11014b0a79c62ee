/// @file
/// The communicator: a group of ranks and the collectives among them.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <tutti/attempt.hpp>
#include <tutti/buffer.hpp>
#include <tutti/error.hpp>
#include <tutti/export.hpp>
#include <tutti/request.hpp>
#include <tutti/spi/sole_caller.hpp>
#include <tutti/values.hpp>

namespace tutti::v0 {

class Catalog;
class Memory;
class Transport;
struct CommunicatorParts;
namespace detail {
struct ObjectAccess;
struct Selection;
}  // namespace detail

/// Options of a communicator. Equal on all ranks, except progress.
struct CommunicatorOptions {
  /// Deadline of an operation without one of its own: more than zero; Duration::max(): none.
  Duration timeout = std::chrono::seconds{300};
  int segments_in_flight = 4;  ///< Segments of one operation under way, 1 .. 8.
  /// Bytes of schedules and bound programs that are kept for reuse, and as many bytes of scratch
  /// memory. The last used program stays, even if it is larger. Pending operations and plans keep
  /// theirs in addition.
  std::size_t cache_bytes = 64_MiB;
  /// The algorithms to choose from; null: tutti's own. If ranks have different algorithms under one
  /// name, calls that run it are Error{mismatch}.
  std::shared_ptr<const Catalog> catalog{};
  /// Algorithms for calls without Options::algorithm, such as {{Collective::all_reduce, "ring"}}.
  /// Other collectives choose. An unknown name is an error when the communicator is made; an
  /// algorithm that does not fit a call is an error of that call. Inherited by groups and splits.
  std::map<Collective, std::string> algorithms{};
  /// As Options::transport, for calls without one. Inherited by groups and splits.
  std::string transport{};
  /// Level of determinism of calls without one.
  Determinism determinism = Determinism::rank_identical;
  /// A function that makes progress in another library, as many MPIs need it, while a rank waits
  /// here: the rank that it waits for may need that progress first. tutti::mpi::init sets it for
  /// the MPI.
  ///
  /// The thread that waits, tests or starts an operation calls it: during a wait about every 2 us
  /// while nothing arrives (every 20 us at most if the function is slow) and after each yield of
  /// the core, otherwise about every millisecond. A rank with such a function never sleeps in a
  /// wait. The function should return within some microseconds, and must not call tutti. An
  /// exception ends the operation and fails the communicator. Groups and splits inherit it, and
  /// each calls it in its own thread. Empty: none.
  std::function<void()> progress{};
  /// Whether operations advance while the program is in no call. One thread of tutti polls for all
  /// such communicators of the process; it sleeps while nothing is pending, and never spins. It
  /// also calls operators and `progress`. Over an MPI it needs MPI_THREAD_MULTIPLE. A call during
  /// its poll waits for the end of the poll. Inherited by groups and splits.
  bool progress_thread = false;
  /// Whether a rank may have room for more data than it gets, as some MPI programs do: a broadcast,
  /// or a block of another rank, may then have fewer elements than the count of the rank that gets
  /// it, which keeps what it had behind them. A rank that passes data on passes all of its room on.
  /// The same on all ranks. Error{mismatch} is what remains: data that does not fit, counts for
  /// which ranks choose different algorithms, and algorithms that cut data or move several blocks
  /// as one message. Needs Capabilities::shorter, which transports of an MPI lack. Inherited by
  /// groups and splits.
  bool accepts_shorter = false;
};

/// The key of groups that Communicator::split makes, so that they differ from groups of the same
/// ranks that other threads make.
inline constexpr std::uint64_t kKeyOfSplits = ~std::uint64_t{0};

/// The color of a rank that joins no part of a Communicator::split.
struct NoColor {};
/// The value of NoColor.
inline constexpr NoColor no_color{};

class Communicator;
class Group;
class StreamTransport;

/// The calls of Communicator::async. It refers to its communicator, which must live.
class TUTTI_API Async : public Collectives<Async, Request> {
 public:
  /// @param world the communicator; must outlive this object.
  explicit Async(Communicator& world) noexcept : world_{&world} {}
  /// Starts a call. @return its handle.
  Request run(const Call& call, const Options& options = {});

 private:
  Communicator* world_;
};

/// The calls of Communicator::plan. It refers to its communicator, which must live.
class TUTTI_API Plans : public Collectives<Plans, Plan> {
 public:
  /// @param world the communicator; must outlive this object.
  explicit Plans(Communicator& world) noexcept : world_{&world} {}
  /// Prepares a call.
  Plan run(const Call& call, const Options& options = {});

 private:
  Communicator* world_;
};

/// The calls of Communicator::try_. It refers to its communicator, which must live.
class TUTTI_API Try : public Values<Try, detail::Returning> {
 public:
  /// @param world the communicator; must outlive this object.
  explicit Try(Communicator& world) noexcept : world_{&world} {}
  /// Runs a call to its end.
  Result<void> run(const Call& call, const Options& options = {}) noexcept;
  /// Starts a call. @return its handle, or the Error.
  Result<Request> start(const Call& call, const Options& options = {}) noexcept;
  /// Prepares a call. @return the plan, or the Error.
  Result<Plan> plan(const Call& call, const Options& options = {}) noexcept;

 private:
  template <class, class>
  friend class Values;
  [[nodiscard]] Communicator& world() noexcept { return *world_; }
  Communicator* world_;
};

/// A group of ranks. Every rank calls the same collectives in the same order with matching
/// arguments. Otherwise the ranks get Error{mismatch} or Error{timeout}, never wrong results. A
/// rank that needs no data, such as one that takes itself for the root, may get the error in a
/// later call: the next one that waits, or the 64th at the latest. Calls between two ranks concern
/// these two only.
///
/// Arguments that are wrong by themselves are Error{invalid_argument}, and the call has no effect.
/// After any other Error but Error{object} the communicator stays failed with that first cause.
/// Move-only.
///
/// One thread at a time: a call while another thread is in one of the same communicator, or in a
/// batch of it, is Error{invalid_argument}, and does not disturb that one. So is a call within a
/// call of the same communicator, for example in an operator or a Codec. Calls that do not
/// communicate may run at any time: rank, size, transport, describe, allocate, and group. Different
/// communicators run concurrently.
class TUTTI_API Communicator : public Values<Communicator, detail::Throwing> {
 public:
  /// Moves the group. `other` is then empty: its rank is -1, its size 0, and any call of it is
  /// Error{invalid_argument}.
  Communicator(Communicator&& other) noexcept;
  /// Moves the group; `other` is then empty.
  Communicator& operator=(Communicator&& other) noexcept;
  /// Releases the transport once no Request or Plan refers to it. It blocks in two cases only. If
  /// it has received messages of a call that other ranks see differently, it asks them which rank
  /// is wrong, for a second or two at most. The last communicator of a world waits until other
  /// hosts have taken what was sent; if one takes nothing for InitOptions::heartbeat_timeout,
  /// because its program computes, that host may lose it.
  ~Communicator();

  /// @return the own rank, or -1 of an empty communicator.
  [[nodiscard]] Rank rank() const noexcept;
  /// @return the number of ranks, or 0 of an empty communicator.
  [[nodiscard]] int size() const noexcept;
  /// @return one line of text: the ranks, how they were found, and the transports between them.
  [[nodiscard]] std::string describe() const;
  /// @return what this rank waits for now, one call per line, such as "all_reduce #3 waits for rank
  /// 2, since 1200 ms"; empty where no thread waits. From any thread, also while another one waits:
  /// for reports about a program that hangs.
  [[nodiscard]] std::string waits() const;

  /// Makes a communicator of some of the ranks; the others do not take part.
  ///
  /// If tutti's own transports connect the ranks this is a local operation, so overlapping groups
  /// may be made in any order: members that name the same ranks and the same key for the k-th time
  /// get the same group. Threads that make groups of the same ranks must pass different keys, or
  /// they may get each other's group, and each other's data. Over MPI it is collective over the
  /// members, and threads may not use keys that are equal modulo 32768 at the same time. With a GPU
  /// attached it is collective over the members too, and not allowed in a batch.
  /// @param members distinct ranks, the own one among them; they become ranks 0, 1, ... in this
  /// order. Equal on all members.
  /// @param key such as a thread's number, but not kKeyOfSplits; equal on all members. Members with
  /// different keys wait for each other until their calls miss their deadlines; they never get each
  /// other's data.
  [[nodiscard]] Communicator group(std::span<const Rank> members, std::uint64_t key = 0);
  /// @copydoc group(std::span<const Rank>, std::uint64_t)
  [[nodiscard]] Communicator group(std::initializer_list<Rank> members, std::uint64_t key = 0) {
    return group(std::span{members.begin(), members.size()}, key);
  }
  /// @copydoc group(std::span<const Rank>, std::uint64_t)
  [[nodiscard]] Result<Communicator> try_group(std::span<const Rank> members,
                                               std::uint64_t key = 0) noexcept;
  /// Makes a communicator of the same ranks, as group does, whose calls are independent of this
  /// one's.
  /// @param key as of group.
  [[nodiscard]] Communicator duplicate(const CommunicatorOptions& options, std::uint64_t key = 0);
  /// @return the options of this communicator.
  [[nodiscard]] const CommunicatorOptions& options() const;
  /// Divides the ranks by color. Collective.
  /// @param color any; ranks with equal colors form a group.
  /// @param key orders the ranks of a color; those with equal keys keep their order.
  /// @return the communicator of the own color.
  [[nodiscard]] Communicator split(int color, int key = 0);
  /// Takes part in a split without joining a group.
  void split(NoColor);
  /// @copydoc split(int, int)
  [[nodiscard]] Result<Communicator> try_split(int color, int key = 0) noexcept;
  /// Allocates elements that the ranks of the own host see, if the transport has such memory; see
  /// Buffer. Local. Throws Error{transport} if the host has not the memory, or its control group.
  /// @return the elements, zeroed.
  template <class T>
  [[nodiscard]] Buffer<T> allocate(std::size_t count) {
    return {allocate_bytes(Buffer<T>::bytes_of(count)), count, allocates_visible()};
  }

  /// @return calls that start an operation and return its Request.
  [[nodiscard]] Async async() noexcept { return Async{*this}; }
  /// @return calls that prepare an operation and return its Plan.
  [[nodiscard]] Plans plan() noexcept { return Plans{*this}; }
  /// @return calls that do not throw and return a Result.
  [[nodiscard]] Try try_() noexcept { return Try{*this}; }
  /// Runs a call with erased types to its end; all other calls use it.
  void run(const Call& call, const Options& options = {});

  /// Waits for a message that no call receives yet. It stays until recv receives it.
  /// @param from its sender, or any_rank. @param tag 0 .. kUserTags - 1. @param options only the
  /// timeout counts.
  /// @return the message; if several senders have sent one, the first found. No sender starves.
  /// Throws as recv.
  [[nodiscard]] Arrival probe(Rank from = any_rank, int tag = 0, const Options& options = {});
  /// Looks for such a message.
  /// @param from its sender, or any_rank. @param tag as above.
  /// @return the message, if one has come. Throws as recv.
  [[nodiscard]] std::optional<Arrival> probe_now(Rank from = any_rank, int tag = 0);

  /// @return text: the choice for a call, every candidate's predicted time, and the reasons for
  /// leaving out the others.
  [[nodiscard]] std::string explain(const Call& call, const Options& options = {});

 private:
  template <class, class>
  friend class Values;
  friend class Async;
  friend class Plans;
  friend class Try;
  friend struct detail::ObjectAccess;
  friend Communicator make_communicator(CommunicatorParts communicator_parts,
                                        std::shared_ptr<Memory> memory,
                                        const CommunicatorOptions& options);
  friend Transport& transport_of(Communicator& communicator);
  friend Group* group_of(Communicator& communicator);
  friend Error fail_as_caught(Communicator& communicator) noexcept;
  friend class SoleCaller;
  friend void call_within(Communicator& communicator, const std::function<void()>& function);
  friend const std::vector<int>& hosts_of(Communicator& communicator);
  friend Communicator duplicate_for_host(Communicator& communicator,
                                         const CommunicatorOptions& options, std::uint64_t key);
  friend void attach_streams(Communicator& communicator, std::shared_ptr<StreamTransport> streams,
                             bool compares);
  friend void wait_for_stream(Communicator& communicator, Stream stream, Duration timeout);
  friend std::shared_ptr<StreamTransport> streams_of(Communicator& communicator);
  friend detail::Selection select_for(Communicator& communicator, const Call& call,
                                      const Options& options);

  explicit Communicator(std::shared_ptr<detail::Engine> engine) noexcept;
  [[nodiscard]] Communicator& world() noexcept { return *this; }
  void run_now(const Call& call, const Options& options);
  [[nodiscard]] bool allocates_visible() const;
  [[nodiscard]] std::shared_ptr<std::byte> allocate_bytes(std::size_t bytes) const;
  std::shared_ptr<detail::Engine> engine_;
};

}  // namespace tutti::v0
