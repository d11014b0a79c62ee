#include "occupancy.hpp"

#include <chrono>
#include <thread>

#include <tutti/error.hpp>

namespace tutti::inline v0::detail {

bool Occupancy::enter_when_free(bool is_forked) noexcept {
  constexpr int kYields = 100;
  for (int tries = 0; !try_enter(); ++tries) {
    if (is_forked || word_.load(std::memory_order_relaxed) == this_thread()) return false;
    if (tries < kYields) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  return true;
}

void Occupancy::refuse() const {
  if ((word_.load(std::memory_order_relaxed) & ~kProgress) == this_thread())
    throw Error{ErrorCode::invalid_argument,
                "the communicator is called within one of its own calls, as by an operator or a "
                "Codec; call another one there, such as a group of the same ranks"};
  throw Error{ErrorCode::invalid_argument,
              "the communicator is used by two threads at once; call it from one thread at a time, "
              "or give each thread one of its own, such as a group of the same ranks"};
}

}  // namespace tutti::inline v0::detail
