/// @file
/// Group: the ranks behind a communicator, and what they can make among themselves.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tutti/alarm.hpp>
#include <tutti/costs.hpp>
#include <tutti/memory.hpp>
#include <tutti/operators.hpp>
#include <tutti/transport.hpp>

namespace tutti {

class Group;

/// What a rank calls, in as few words as a processor can write while another one reads.
struct CallSummary {
  std::uint64_t fingerprint = 0;  ///< Of all that must be equal on all ranks.
  std::uint64_t what = 0;         ///< Collective, datatype, operator, root.
  std::uint64_t bytes = 0;        ///< Of the whole vector.
};
/// @param collective of a call. @param type of its elements. @param op its operator or null.
/// @param root of a rooted collective. @return what CallSummary::what says.
[[nodiscard]] std::uint64_t packed_call(Collective collective, Datatype type,
                                        const OperatorKind* op, Rank root) noexcept;
/// @param call any. @return it in words, equal if and only if the calls are.
[[nodiscard]] std::string words_of(const CallSummary& call);

/// How far a rank of a communicator has got, for the others to ask when they wait for it. One
/// thread writes, any read.
class CallCounter {
 public:
  /// A call begins. @param number counts from one. @param call what it is.
  void begin(std::uint64_t number, const CallSummary& call) noexcept {
    begun_.store(number, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    fingerprint_.store(call.fingerprint, std::memory_order_relaxed);
    what_.store(call.what, std::memory_order_relaxed);
    bytes_.store(call.bytes, std::memory_order_relaxed);
    described_.store(number, std::memory_order_release);
  }
  /// @return calls begun so far.
  [[nodiscard]] std::uint64_t begun() const noexcept {
    return begun_.load(std::memory_order_acquire);
  }
  /// @return the latest call in words, or nothing if there is none, or another one just begins.
  [[nodiscard]] std::string latest() const;

 private:
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> fingerprint_{0};
  std::atomic<std::uint64_t> what_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> described_{0};
};

/// What a rank is found to be doing.
struct Whereabouts {
  /// What could be found out.
  enum class State : std::uint8_t {
    unknown,  ///< Nobody can be asked.
    dead,     ///< It has ended, or cannot be reached.
    left,     ///< It has left the world in good order.
    silent,   ///< It does not answer.
    absent,   ///< It has not made this communicator, or destroyed it.
    there     ///< It has answered.
  };
  State state = State::unknown;  ///< What could be found out.
  std::uint64_t begun = 0;       ///< If it is there: calls it has begun on this communicator.
  std::string latest{};          ///< If it is there: as CallCounter::latest.
};

/// What a communicator stands on.
struct Footing {
  std::unique_ptr<Transport> transport{};  ///< Connects its ranks.
  std::shared_ptr<Group> group{};          ///< Outlives the transport. May be null.
  std::shared_ptr<CallCounter> calls{};    ///< Kept up to date by the communicator. May be null.
  std::shared_ptr<const Alarm> alarm{};    ///< The transport's, if its ranks agree. May be null.
  Tariff tariff{};                         ///< What algorithms are chosen by; equal on all ranks.
  /// On which host each rank is, as numbers; equal on all ranks. Empty where they do not know.
  std::vector<int> hosts{};
};

/// The key of groups that Communicator::split makes, so that they are none of those that other
/// threads make of the same ranks.
inline constexpr std::uint64_t kKeyOfSplits = ~std::uint64_t{0};

/// Makes smaller groups, and memory that peers see. A backend that can do neither has no Group.
/// Calls from several threads at once are safe.
class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  /// Makes a group of some of the ranks.
  /// @param members distinct ranks of this group, the own one among them; they are ranks 0, 1, ...
  /// of the new one in this order. All members must name the same. @param key equal on all of them:
  /// those that name the same ranks and key for the k-th time get the same group.
  /// @return what the new group stands on. Throws Error.
  [[nodiscard]] virtual Footing subgroup(std::span<const Rank> members, std::uint64_t key) = 0;
  /// @return memory in which peers of the same host read and write in place, or null where there
  /// is none.
  [[nodiscard]] virtual std::shared_ptr<Memory> visible_memory() noexcept = 0;
  /// Asks ranks what they are doing. @param peers other ranks. @param patience how long to wait for
  /// the last answer. @return what could be found out about each.
  [[nodiscard]] virtual std::vector<Whereabouts> inquire(std::span<const Rank> peers,
                                                         Duration patience) {
    static_cast<void>(patience);
    return std::vector<Whereabouts>(peers.size());
  }
  /// @return one line for a person: the ranks, how they were found, what connects them.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tutti
