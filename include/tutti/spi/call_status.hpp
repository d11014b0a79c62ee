/// @file
/// CallStatus: what a rank of a communicator tells others of its calls, and what it notes for
/// that.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/export.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0 {

/// Where plans are asked for as calls are, by a number, the k-th that was made on a communicator
/// has this one and k.
inline constexpr std::uint64_t kPlanCalls = std::uint64_t{1} << 62U;
/// @param number of a call or a plan. @return such as "call #3" or "plan #2".
[[nodiscard]] TUTTI_API std::string words_of_number(std::uint64_t number);

/// What a rank is found to be doing.
struct CallStatus {
  /// What could be found out.
  enum class State : std::uint8_t {
    unknown,  ///< Nobody can be asked.
    dead,     ///< It has ended, or cannot be reached.
    left,     ///< It has left the world in good order.
    silent,   ///< It does not answer.
    absent,   ///< It has not made this communicator, or has destroyed it long ago.
    ended,    ///< It has destroyed this communicator.
    there     ///< It has answered.
  };
  /// What it knows of the call that it was asked for.
  enum class Memory : std::uint8_t {
    none,      ///< It has not come to it.
    known,     ///< What it was.
    forgotten  ///< It was too many calls ago.
  };
  /// What it waits for.
  struct Wait {
    std::string call{};        ///< In which call, such as "reduce #1".
    std::uint64_t number = 0;  ///< Of that collective, from one, or of a plan, as kPlanCalls says;
                               ///< 0: a message between two ranks.
    Rank rank = -1;            ///< For whom; -1: for nobody else.
    Duration time{0};          ///< For how long.
  };

  State state = State::unknown;   ///< What could be found out. What follows is told by ranks that
                                  ///< are there, or have ended.
  std::uint64_t begun = 0;        ///< Collectives it has begun on this communicator.
  Memory memory = Memory::none;   ///< Of the call asked for.
  std::uint64_t fingerprint = 0;  ///< If that is known: of all that must be equal on all ranks.
  std::string words{};            ///< If that is known: the call in words, or nothing.
  /// One for each call under way, if it waits: the one it does not return from first, then the
  /// oldest.
  std::vector<Wait> waits{};
};

/// A wait as the waiting rank notes it, which allocates nothing.
struct CallWait {
  std::string_view name{};   ///< Of the call, such as "reduce"; lives for ever.
  std::uint64_t number = 0;  ///< As CallStatus::Wait.
  int tag = 0;               ///< Of a message between two ranks.
  Rank rank = -1;            ///< As CallStatus::Wait.
  Duration time{0};          ///< For how long, when it was noted.
};
/// @param wait any. @return its call in words, such as "reduce #1" or "recv with tag 5".
[[nodiscard]] TUTTI_API std::string words_of(const CallWait& wait);

/// What a rank of a communicator has called and waits for, for the others to ask when they wait for
/// it. One thread writes, any read.
class TUTTI_API CallCounter {
 public:
  /// So many calls back it knows what they were: twice as many as may be under way at once, since
  /// one rank may be at the beginning of those and another one behind their end.
  static constexpr std::uint64_t kRemembered = 128;
  /// The number of plans that are remembered.
  static constexpr std::size_t kRememberedPlans = 4096;
  /// So many waits are noted at most.
  static constexpr std::size_t kMostWaits = 8;

  /// A call begins. @param number counts from one. @param fingerprint of all that must be equal on
  /// all ranks.
  void begin(std::uint64_t number, std::uint64_t fingerprint) noexcept {
    note(number, fingerprint);
    begun_.store(number, std::memory_order_release);
  }
  /// What a call is whose turn was kept, when later ones may have begun. @param number as begin.
  /// @param fingerprint as begin.
  void note(std::uint64_t number, std::uint64_t fingerprint) noexcept {
    Slot& slot = slots_[number % kRemembered];
    slot.number.store(0, std::memory_order_release);  // seen by who sees what follows
    slot.fingerprint.store(fingerprint, std::memory_order_release);
    slot.number.store(number, std::memory_order_release);
  }
  /// Says what calls are. @param fingerprint theirs. @param words what differs if the fingerprint
  /// does, for a person.
  void describe(std::uint64_t fingerprint, std::string words);
  /// There will be no more such calls once this was said as often as they were described: kinds
  /// that differ in what need not be equal have one fingerprint. @param fingerprint theirs.
  void forget(std::uint64_t fingerprint) noexcept;
  /// A plan was made. @param plan its number, which counts from one. @param fingerprint as begin.
  void add_plan(std::uint64_t plan, std::uint64_t fingerprint);
  /// This rank waits. To be said again now and then. @param waits of calls under way, in the order
  /// of CallStatus::waits; the first kMostWaits count. @param blocks whether the first one does
  /// not return until it is done; else it is only looked at, and believed for a short while.
  void wait(std::span<const CallWait> waits, bool blocks) noexcept;
  /// It does not wait any more.
  void advance() noexcept;

  /// @param number of the call asked for, or 0 for the latest. @return what others are told; its
  /// state is `there`.
  [[nodiscard]] CallStatus status_of(std::uint64_t number) const;

 private:
  struct Slot {
    std::atomic<std::uint64_t> number{0};
    std::atomic<std::uint64_t> fingerprint{0};
  };
  struct Text {
    std::string words{};
    std::size_t kinds = 0;  // described and not forgotten; none: no more such calls
  };
  [[nodiscard]] bool remembers(std::uint64_t fingerprint) const noexcept;

  std::atomic<std::uint64_t> begun_{0};
  std::array<Slot, kRemembered> slots_{};           // call n in slot n % kRemembered
  mutable std::mutex mutex_{};                      // of all below
  std::map<std::uint64_t, Text> texts_{};           // by fingerprint
  std::map<std::uint64_t, std::uint64_t> plans_{};  // fingerprints of the latest, by number
  std::array<CallWait, kMostWaits> waits_{};
  std::size_t wait_count_ = 0;
  bool blocks_ = false;
  std::chrono::steady_clock::time_point noted_{};  // the waits
};

}  // namespace tutti::v0
