#include "pool.hpp"

#include <algorithm>
#include <utility>

namespace tutti::standin {

void Pool::allow_access(int device, bool allowed) {
  const std::scoped_lock lock{mutex_};
  if (allowed) open_to_.insert(device);
  else open_to_.erase(device);
}

bool Pool::may_access(int device) const {
  const std::scoped_lock lock{mutex_};
  return device == device_ || open_to_.contains(device);
}

void Pool::note_free(const Stream& stream, std::size_t bytes, std::shared_ptr<const Mark> end) {
  const std::scoped_lock lock{mutex_};
  frees_.push_back({.stream = &stream, .bytes = bytes, .end = std::move(end)});
}

// A free of the same stream comes first, since nothing waits for it.
std::shared_ptr<const Mark> Pool::take_free(const Stream& stream, std::size_t bytes) {
  const std::scoped_lock lock{mutex_};
  std::erase_if(frees_, [](const Free& free) { return free.end->is_reached(); });
  const auto pop = [&](bool of_stream) -> std::shared_ptr<const Mark> {
    const auto found = std::ranges::find_if(frees_, [&](const Free& free) {
      return free.bytes >= bytes && (free.stream == &stream) == of_stream;
    });
    if (found == frees_.end()) return nullptr;
    const std::shared_ptr<const Mark> end = found->end;
    frees_.erase(found);
    return end;
  };
  if (pop(true) != nullptr || !may_depend_) return nullptr;
  return pop(false);
}

}  // namespace tutti::standin
