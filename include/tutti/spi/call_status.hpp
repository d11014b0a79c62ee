/// @file
/// CallStatus: the calls and waits of a rank, for errors of other ranks.
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

/// Base of plan numbers where calls have numbers too: the k-th plan of a communicator has this plus
/// k.
inline constexpr std::uint64_t kPlanCalls = std::uint64_t{1} << 62U;
/// @return such as "call #3" or "plan #2".
[[nodiscard]] TUTTI_API std::string words_of_number(std::uint64_t number);

/// The status of a rank.
struct CallStatus {
  /// The reachability of a rank.
  enum class State : std::uint8_t {
    unknown,  ///< It cannot be asked.
    dead,     ///< It has ended, or cannot be reached.
    left,     ///< It has left the world without an error.
    silent,   ///< It does not answer.
    absent,   ///< It has not made this communicator, or has destroyed it long ago.
    ended,    ///< It has destroyed this communicator.
    there     ///< It has answered.
  };
  /// The rank's knowledge of the requested call.
  enum class Memory : std::uint8_t {
    none,      ///< It has not reached the call.
    known,     ///< It knows the call.
    forgotten  ///< The call was too long ago.
  };
  /// A wait.
  struct Wait {
    std::string call{};  ///< The waiting call, such as "reduce #1".
    /// Number of the collective, from one, or of a plan, see kPlanCalls; 0: a message between two
    /// ranks.
    std::uint64_t number = 0;
    Rank rank = -1;    ///< The awaited rank; -1: none.
    Duration time{0};  ///< Duration of the wait.
  };

  /// Reachability. The members below are valid for the states there and ended.
  State state = State::unknown;
  std::uint64_t begun = 0;       ///< Collectives begun on this communicator.
  Memory memory = Memory::none;  ///< Knowledge of the requested call.
  /// If that is known: hash of all that must be equal on all ranks.
  std::uint64_t fingerprint = 0;
  std::string words{};  ///< If that is known: description of the call, or empty.
  /// One for each waiting call under way: first the call that does not return, then the oldest.
  std::vector<Wait> waits{};
};

/// A wait as the waiting rank stores it, without allocation.
struct CallWait {
  std::string_view name{};   ///< Name of the call, such as "reduce"; a static string.
  std::uint64_t number = 0;  ///< As CallStatus::Wait.
  int tag = 0;               ///< Tag of a message between two ranks.
  Rank rank = -1;            ///< As CallStatus::Wait.
  Duration time{0};          ///< Duration of the wait when it was stored.
};
/// @return the call, such as "reduce #1" or "recv with tag 5".
[[nodiscard]] TUTTI_API std::string words_of(const CallWait& wait);

/// Stores the calls and waits of a rank of a communicator, so that other ranks can request them.
/// One thread writes, any read.
class TUTTI_API CallCounter {
 public:
  /// Number of remembered calls: twice as many as may be under way at once, since one rank may be
  /// at the first of those and another one after their last.
  static constexpr std::uint64_t kRemembered = 128;
  /// The number of plans that are remembered.
  static constexpr std::size_t kRememberedPlans = 4096;
  /// Most stored waits.
  static constexpr std::size_t kMostWaits = 8;

  /// Stores the start of a call. @param number from one.
  /// @param fingerprint of all that must be equal on all ranks.
  void begin(std::uint64_t number, std::uint64_t fingerprint) noexcept {
    note(number, fingerprint);
    begun_.store(number, std::memory_order_release);
  }
  /// Stores a call in its turn, after later ones may have begun. @param number as for begin.
  /// @param fingerprint as for begin.
  void note(std::uint64_t number, std::uint64_t fingerprint) noexcept {
    Slot& slot = slots_[number % kRemembered];
    slot.number.store(0, std::memory_order_release);  // seen by who sees what follows
    slot.fingerprint.store(fingerprint, std::memory_order_release);
    slot.number.store(number, std::memory_order_release);
  }
  /// Stores the description of all calls with a fingerprint. @param words the arguments that may
  /// differ if the fingerprint does.
  void describe(std::uint64_t fingerprint, std::string words);
  /// Removes a description when this was called as often as describe: calls that differ only in
  /// what need not be equal share a fingerprint.
  void forget(std::uint64_t fingerprint) noexcept;
  /// Stores a plan. @param plan its number, from one. @param fingerprint as for begin.
  void add_plan(std::uint64_t plan, std::uint64_t fingerprint);
  /// Stores that this rank waits; to be repeated while it does.
  /// @param waits of calls under way, in the order of CallStatus::waits; the first kMostWaits
  /// count.
  /// @param blocks whether the first call returns only when it is done. Otherwise a poll made it,
  /// and it expires soon.
  void wait(std::span<const CallWait> waits, bool blocks) noexcept;
  /// Stores that this rank does not wait any more.
  void advance() noexcept;

  /// @param number of the requested call, or 0 for the latest. @return the status for other ranks,
  /// in the state `there`.
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
