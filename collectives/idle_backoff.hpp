/// @file
/// IdleBackoff: the pauses of a thread that polls transports.
#pragma once

#include <cstdint>
#include <thread>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::detail {

/// A waiting thread polls for a while, then yields its core, then sleeps. A thread that also drives
/// another library never sleeps, since nothing would wake it; if ranks do not outnumber cores, it
/// polls for as long again after each yield.
class IdleBackoff {
 public:
  /// Starts again after a completion.
  void end() noexcept { polls_ = 0; }
  /// Pauses after a poll without completions. @param transport that is polled. @param spins its
  /// idle_spins. @param drives whether there is a ProgressHook. @return whether other threads may
  /// have used the core for long.
  bool advance(Transport& transport, int spins, bool drives) {
    if (polls_++ < spins) return false;
    if (drives && spins > kMostSpinsOfACrowd) polls_ = 0;
    if (drives || polls_ <= spins + kYields) std::this_thread::yield();
    else transport.idle_wait();
    return true;
  }

 private:
  /// Times that a core is offered before the thread sleeps, from which it takes long to come back.
  static constexpr int kYields = 200;
  /// The most that a transport asks for if ranks outnumber cores.
  static constexpr int kMostSpinsOfACrowd = 100;
  std::int64_t polls_ = 0;
};

}  // namespace tutti::v0::detail
