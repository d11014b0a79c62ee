/// @file
/// The pauses of a thread that polls transports.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include <tutti/spi/transport.hpp>

#include "core_contention.hpp"

namespace tutti::v0::detail {

/// A waiting thread polls for a while, then yields its core, then sleeps. If other programs use the
/// core, it sleeps sooner. If nothing would wake it, each sleep is short. A thread that also drives
/// another library sleeps only if other programs use the core; otherwise, if ranks do not outnumber
/// cores, it polls for the same time again after each yield.
class IdleBackoff {
 public:
  /// Starts again after a completion.
  void end() noexcept { polls_ = 0; }
  /// The event for which a thread waits.
  struct Wait {
    bool drives = false;  ///< Whether there is a ProgressHook.
    bool wakes = true;    ///< Whether the awaited event ends Transport::idle_wait.
  };
  /// Pauses after a poll without completions. @return whether other threads may have used the core
  /// for long.
  bool advance(Transport& transport, CoreContention& contention, const Wait& wait) {
    const int wanted = transport.capabilities().idle_spins;
    const bool contended = contention.is_seen();
    const int spins = contended ? std::min(wanted, kMostSpinsOfACrowd) : wanted;
    if (polls_++ < spins) return false;
    if (wait.drives && spins > kMostSpinsOfACrowd) polls_ = 0;
    const bool sleeps = contended || (!wait.drives && polls_ > spins + kYields);
    if (!sleeps) contention.yield();
    else if (wait.drives || !wait.wakes) std::this_thread::sleep_for(kNap);
    else sleep(transport, contended);
    contention.expire();
    return true;
  }

 private:
  static void sleep(Transport& transport, bool contended) {
    if (contended) transport.expect_idle_waits();
    transport.idle_wait();
  }

  /// Number of yields before the thread sleeps, since waking up takes long.
  static constexpr int kYields = 200;
  /// The most polls before a yield if other programs use the core. Transports ask for no more if
  /// ranks outnumber cores.
  static constexpr int kMostSpinsOfACrowd = 100;
  /// The sleep of a thread that nothing wakes.
  static constexpr std::chrono::microseconds kNap{50};
  std::int64_t polls_ = 0;
};

}  // namespace tutti::v0::detail
