#include <tutti/spi/occupancy.hpp>

#include <chrono>
#include <string>
#include <thread>

#include <tutti/error.hpp>

namespace tutti::v0::detail {

bool Occupancy::enter_when_free(bool is_forked) noexcept {
  constexpr int kYields = 100;
  for (int tries = 0; !try_enter(); ++tries) {
    if (is_forked || word_.load(std::memory_order_relaxed) == this_thread()) return false;
    if (tries < kYields) std::this_thread::yield();
    else std::this_thread::sleep_for(std::chrono::microseconds{100});
  }
  return true;
}

void Occupancy::reject(const Words& words) const {
  const std::string object = words.object;
  if (is_in())
    throw Error{ErrorCode::invalid_argument, object +
                                                 " is called within one of its own calls, as by " +
                                                 words.callbacks + words.instead};
  throw Error{ErrorCode::invalid_argument,
              object + " is used by two threads at once; call it from one thread at a time" +
                  words.otherwise};
}

}  // namespace tutti::v0::detail
