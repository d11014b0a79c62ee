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

/// What a communicator is made with. Equal on all ranks, but for progress.
struct CommunicatorOptions {
  /// Deadline of an operation without its own: more than zero, and Duration::max() is for ever.
  Duration timeout = std::chrono::seconds{300};
  int segments_in_flight = 4;  ///< Segments of one operation under way, 1 .. 8.
  /// Schedules and bound programs kept for reuse, and as much again of scratch memory. What was
  /// used last stays, whatever its size. Pending operations and plans have what they need beside
  /// it.
  std::size_t cache_bytes = 64_MiB;
  /// What there is to choose from; null: tutti's own algorithms. Where ranks have different
  /// algorithms under one name, calls that run it are Error{mismatch}.
  std::shared_ptr<const Catalog> catalog{};
  /// What collectives run where a call does not say, such as {{Collective::all_reduce, "ring"}};
  /// all others choose. A name that is not there is an error of whoever makes the communicator, and
  /// a choice that cannot serve a call is one of that call. Inherited by groups and splits.
  std::map<Collective, std::string> algorithms{};
  /// As Options::transport, where a call does not say. Inherited by groups and splits.
  std::string transport{};
  /// What the bits of reductions may depend on, where a call does not say.
  Determinism determinism = Determinism::rank_identical;
  /// For libraries whose messages move only while a thread calls them, as those of many MPIs do:
  /// makes such a library go on while a rank waits here, since the rank that it waits for may need
  /// that first. tutti::mpi::init does this for the MPI.
  ///
  /// Called by the thread that waits, tests or starts something, in the midst of that: in a wait in
  /// which nothing comes every 2 us or so (where it takes long more seldom, down to every 20 us),
  /// and after each yield of the core; otherwise every millisecond or so. A rank with such a
  /// function never sleeps in a wait. It should return within some microseconds, and must not call
  /// tutti. What it throws ends the operation and fails the communicator. It is inherited by groups
  /// and splits, each of which calls it in its own thread. Empty: nothing is called.
  std::function<void()> progress{};
  /// Whether operations go on while the program calls nothing: then a thread of tutti's own, one
  /// for all communicators of the process that want it, polls for what is pending. It sleeps while
  /// there is nothing, and never spins. Operators, and `progress`, are called by that thread too.
  /// Over the MPI it needs MPI_THREAD_MULTIPLE. A call that comes while the thread is at work waits
  /// for the end of its poll. It is inherited by groups and splits.
  bool progress_thread = false;
};

/// The key of groups that Communicator::split makes, so that they are none of those that other
/// threads make of the same ranks.
inline constexpr std::uint64_t kKeyOfSplits = ~std::uint64_t{0};

/// What a rank gives to Communicator::split that wants to be in no part.
struct NoColor {};
/// The value of NoColor.
inline constexpr NoColor no_color{};

class Communicator;
class StreamTransport;

/// The calls of Communicator::async. It refers to its communicator, which must live.
class TUTTI_API Async : public Collectives<Async, Request> {
 public:
  /// @param world whose calls they are.
  explicit Async(Communicator& world) noexcept : world_{&world} {}
  /// Starts a call. @param call what. @param options see Options. @return its handle.
  Request run(const Call& call, const Options& options = {});

 private:
  Communicator* world_;
};

/// The calls of Communicator::plan. It refers to its communicator, which must live.
class TUTTI_API Plans : public Collectives<Plans, Plan> {
 public:
  /// @param world whose calls they are.
  explicit Plans(Communicator& world) noexcept : world_{&world} {}
  /// Prepares a call. @param call what. @param options see Options. @return the prepared call.
  Plan run(const Call& call, const Options& options = {});

 private:
  Communicator* world_;
};

/// The calls of Communicator::try_. It refers to its communicator, which must live.
class TUTTI_API Try : public Values<Try, detail::Returning> {
 public:
  /// @param world whose calls they are.
  explicit Try(Communicator& world) noexcept : world_{&world} {}
  /// Runs a call to its end. @param call what. @param options see Options. @return the outcome.
  Result<void> run(const Call& call, const Options& options = {}) noexcept;
  /// Starts a call. @param call what. @param options see Options. @return its handle, or the Error.
  Result<Request> start(const Call& call, const Options& options = {}) noexcept;
  /// Prepares a call. @param call what. @param options see Options. @return the prepared call, or
  /// the Error.
  Result<Plan> plan(const Call& call, const Options& options = {}) noexcept;

 private:
  template <class, class>
  friend class Values;
  [[nodiscard]] Communicator& world() noexcept { return *world_; }
  Communicator* world_;
};

/// A group of ranks. Every rank calls the same collectives in the same order with matching
/// arguments; if not, the ranks get Error{mismatch} or Error{timeout}, never wrong numbers. A rank
/// that needed nobody's data, such as one that takes itself for the root, may hear of it from a
/// later call: the next one that waits, or the 64th from there. Calls between two ranks are theirs
/// alone. Throws Error{invalid_argument} from the call, with no effect, for arguments that are
/// wrong by themselves. After any other Error but Error{object} the communicator stays failed with
/// that first cause. Move-only.
///
/// One thread at a time: a call that comes while another thread is in one of the same communicator,
/// or in a batch of it, is Error{invalid_argument}, and does not touch that one. So is a call
/// within a call of the same communicator, as in an operator or a Codec. What does not communicate
/// may be called at any time: rank, size, transport, describe, allocate, and group. Different
/// communicators run concurrently.
class TUTTI_API Communicator : public Values<Communicator, detail::Throwing> {
 public:
  /// Takes the group over. @param other is empty afterwards: its rank is -1, its size 0, and any
  /// call of it Error{invalid_argument}.
  Communicator(Communicator&& other) noexcept;
  /// Takes the group over. @param other is empty afterwards. @return this.
  Communicator& operator=(Communicator&& other) noexcept;
  /// Releases the transport once no Request or Plan refers to it. Does not block, but for two
  /// cases: where messages are there of a call that ranks see differently, the others are asked who
  /// is wrong, for a second or two at most; and the last of a world waits until other hosts have
  /// what was sent, unless one takes nothing for InitOptions::heartbeat_timeout, since its program
  /// computes: that one may then lose it.
  ~Communicator();

  /// @return the own rank, or -1 of an empty communicator.
  [[nodiscard]] Rank rank() const noexcept;
  /// @return the number of ranks, or 0 of an empty communicator.
  [[nodiscard]] int size() const noexcept;
  /// @return one line for a person: the ranks, how they were found, what connects them.
  [[nodiscard]] std::string describe() const;

  /// Makes a communicator of some of the ranks; the others do not take part. Where tutti's own
  /// transports connect the ranks this is a local operation, so that overlapping groups may be made
  /// in any order; members that name the same ranks and the same key for the k-th time get the same
  /// group. So threads that make groups of the same ranks give a key of their own each, else they
  /// may get each other's group, and each other's data. Over MPI it is collective over the members,
  /// and keys that are equal modulo 32768 are not for several threads at once. Where a GPU is
  /// attached it is collective over them too, since they share it out, and no part of a batch.
  /// @param members distinct ranks, the own one among them, which become ranks 0, 1, ... in this
  /// order. Equal on all of them. @param key such as a thread's number, and not kKeyOfSplits; equal
  /// on all of them. Members whose keys differ never get each other's data: they wait for each
  /// other until their calls miss their deadlines. @return the communicator. Throws Error.
  [[nodiscard]] Communicator group(std::span<const Rank> members, std::uint64_t key = 0);
  /// @copydoc group(std::span<const Rank>, std::uint64_t)
  [[nodiscard]] Communicator group(std::initializer_list<Rank> members, std::uint64_t key = 0) {
    return group(std::span{members.begin(), members.size()}, key);
  }
  /// @copydoc group(std::span<const Rank>, std::uint64_t)
  [[nodiscard]] Result<Communicator> try_group(std::span<const Rank> members,
                                               std::uint64_t key = 0) noexcept;
  /// Makes a communicator of the same ranks, whose calls have nothing to do with those of this one,
  /// as group does.
  /// @param options of the new one. @param key as of group. @return the communicator. Throws Error.
  [[nodiscard]] Communicator duplicate(const CommunicatorOptions& options, std::uint64_t key = 0);
  /// @return what this one was made with.
  [[nodiscard]] const CommunicatorOptions& options() const;
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
    return {allocate_bytes(Buffer<T>::bytes_of(count)), count, allocates_visible()};
  }

  /// @return calls that only start an operation.
  [[nodiscard]] Async async() noexcept { return Async{*this}; }
  /// @return calls that prepare an operation, which then runs again and again.
  [[nodiscard]] Plans plan() noexcept { return Plans{*this}; }
  /// @return calls that do not throw.
  [[nodiscard]] Try try_() noexcept { return Try{*this}; }
  /// Runs a call whose types were erased to its end; all others are made of this. @param call what.
  /// @param options see Options.
  void run(const Call& call, const Options& options = {});

  /// Waits for a message that nobody receives yet; recv receives it, as no other call does.
  /// @param from its sender, or any_rank. @param tag 0 .. kUserTags - 1. @param options of which
  /// the timeout counts. @return what it is; of several senders' the one that was found first,
  /// where none is forgotten for others. Throws as recv.
  [[nodiscard]] Arrival probe(Rank from = any_rank, int tag = 0, const Options& options = {});
  /// Looks for such a message. @param from its sender, or any_rank. @param tag as above. @return
  /// what it is, if one has come. Throws as recv.
  [[nodiscard]] std::optional<Arrival> probe_now(Rank from = any_rank, int tag = 0);

  /// What a call would run, every candidate's predicted time, and why the others were left out.
  /// @param call what. @param options see Options. @return lines of text for a person.
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
