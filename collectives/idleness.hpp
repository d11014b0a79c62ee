/// @file
/// How a thread waits for transports.
#pragma once

#include <cstdint>
#include <thread>

#include <tutti/spi/transport.hpp>

namespace tutti::v0::detail {

/// A thread that waits polls for a while, then offers its core to others, then sleeps. Where it
/// drives another library meanwhile it does not sleep, since nothing wakes it for that; and where
/// ranks do not outnumber cores it polls for as long again after each offer.
class Idleness {
 public:
  /// Something has come.
  void end() noexcept { polls_ = 0; }
  /// A poll brought nothing. @param transport what is waited for. @param spins its idle_spins.
  /// @param drives whether there is a ProgressHook.
  /// @return whether others had the core meanwhile, maybe for long.
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
  /// Where ranks outnumber cores no transport asks for more.
  static constexpr int kMostSpinsOfACrowd = 100;
  std::int64_t polls_ = 0;
};

}  // namespace tutti::v0::detail
