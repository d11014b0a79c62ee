/// @file
/// IdleBackoff: the pauses of a thread that polls transports.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include <tutti/spi/transport.hpp>

#include "core_contention.hpp"

namespace tutti::v0::detail {

/// A waiting thread polls for a while, then yields its core, then sleeps. If other programs use the
/// core it sleeps soon, over any transport. Where nothing wakes it, each sleep is a short nap. A
/// thread that also drives another library naps only then; otherwise, if ranks do not outnumber
/// cores, it polls for as long again after each yield.
class IdleBackoff {
 public:
  /// Starts again after a completion.
  void end() noexcept { polls_ = 0; }
  /// The event for which a thread waits.
  struct Wait {
    bool drives = false;  ///< Whether there is a ProgressHook.
    bool wakes = true;    ///< Whether what is awaited ends Transport::idle_wait.
  };
  /// Pauses after a poll without completions. @param transport that is polled.
  /// @return whether other threads may have used the core for long.
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

  /// Times that a core is offered before the thread sleeps, from which it takes long to come back.
  static constexpr int kYields = 200;
  /// The most polls if others use the core; transports ask for no more if ranks outnumber cores.
  static constexpr int kMostSpinsOfACrowd = 100;
  /// The sleep of a thread that nothing wakes.
  static constexpr std::chrono::microseconds kNap{50};
  std::int64_t polls_ = 0;
};

}  // namespace tutti::v0::detail
