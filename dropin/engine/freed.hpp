/// @file
/// How many handles the program has freed: each may be another communicator's or datatype's next.
#pragma once

#include <atomic>

namespace tutti::dropin {

inline std::atomic<unsigned> freed_communicators{1};
inline std::atomic<unsigned> freed_datatypes{1};

/// Both numbers. Findings about a handle hold as long as neither changes.
struct Freed {
  unsigned communicators = 0;
  unsigned datatypes = 0;
  friend bool operator==(const Freed&, const Freed&) = default;
};

/// @return the numbers now.
[[nodiscard]] inline Freed freed() noexcept {
  return {freed_communicators.load(std::memory_order_acquire),
          freed_datatypes.load(std::memory_order_acquire)};
}

}  // namespace tutti::dropin
