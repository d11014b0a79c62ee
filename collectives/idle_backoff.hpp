/// @file
/// IdleBackoff: the pauses of a thread that polls transports.
#pragma once

#include <algorithm>
#include <cstdint>

#include <tutti/spi/transport.hpp>

#include "core_contention.hpp"

namespace tutti::v0::detail {

/// A waiting thread polls for a while, then yields its core, then sleeps. If other programs use the
/// core it sleeps soon. A thread that also drives another library never sleeps, since nothing would
/// wake it; if ranks do not outnumber cores, it polls for as long again after each yield.
class IdleBackoff {
 public:
  /// Starts again after a completion.
  void end() noexcept { polls_ = 0; }
  /// Pauses after a poll without completions. @param transport that is polled. @param drives
  /// whether there is a ProgressHook. @param keeps_core returns whether the thread does not sleep
  /// soon: in a call of many bytes, each sleep costs the rest of another thread's time slice.
  /// @return whether other threads may have used the core for long.
  template <class KeepsCore>
  bool advance(Transport& transport, CoreContention& contention, bool drives,
               KeepsCore keeps_core) {
    const int wanted = transport.capabilities().idle_spins;
    const bool contended = contention.is_seen() && !drives;
    const int spins = contended ? std::min(wanted, kMostSpinsOfACrowd) : wanted;
    if (polls_++ < spins) return false;
    if (drives && spins > kMostSpinsOfACrowd) polls_ = 0;
    if (contended && !keeps_core()) {
      transport.expect_idle_waits();
      transport.idle_wait();
    } else if (drives || contended || polls_ <= spins + kYields) {
      contention.yield();
    } else {
      transport.idle_wait();
    }
    contention.expire();
    return true;
  }

 private:
  /// Times that a core is offered before the thread sleeps, from which it takes long to come back.
  static constexpr int kYields = 200;
  /// The most polls if others use the core; transports ask for no more if ranks outnumber cores.
  static constexpr int kMostSpinsOfACrowd = 100;
  std::int64_t polls_ = 0;
};

}  // namespace tutti::v0::detail
