/// @file
/// How a thread waits for transports.
#pragma once

#include <cstdint>
#include <thread>

#include <tutti/spi/transport.hpp>

namespace tutti::inline v0::detail {

/// A thread that waits polls for a while, then offers its core to others, then sleeps.
class Idleness {
 public:
  /// Something has come.
  void end() noexcept { polls_ = 0; }
  /// A poll brought nothing. @param transport what is waited for. @param spins its idle_spins.
  /// @return whether others had the core meanwhile, maybe for long.
  bool go_on(Transport& transport, int spins) {
    if (polls_++ < spins) return false;
    if (polls_ <= spins + kYields) std::this_thread::yield();
    else transport.doze();
    return true;
  }

 private:
  /// Times that a core is offered before the thread sleeps, from which it takes long to come back.
  static constexpr int kYields = 200;
  std::int64_t polls_ = 0;
};

}  // namespace tutti::inline v0::detail
