/// @file
/// Handles of the driver's objects: numbers that are never reused and never dereferenced, so that a
/// handle of something destroyed, or of something else, is rejected.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tutti::standin {

/// The next handle of any kind. The driver gives the least numbers a meaning of its own.
inline std::atomic<std::uintptr_t> next_handle{0x1000};

/// The living objects of one kind.
/// @tparam Handle a pointer type of the driver's. @tparam T what it stands for.
template <class Handle, class T>
class Handles {
 public:
  Handle add(std::shared_ptr<T> object) {
    const std::uintptr_t number = next_handle.fetch_add(0x10);
    const std::scoped_lock lock{mutex_};
    objects_.emplace(number, std::move(object));
    return reinterpret_cast<Handle>(number);  // NOLINT(performance-no-int-to-ptr)
  }

  /// @return null if there is no such object.
  std::shared_ptr<T> find(Handle handle) const {
    const std::scoped_lock lock{mutex_};
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == objects_.end() ? nullptr : found->second;
  }

  /// Ends the handle. @return null if there is no such object.
  std::shared_ptr<T> pop(Handle handle) {
    const std::scoped_lock lock{mutex_};
    const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == objects_.end()) return nullptr;
    const std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  std::size_t size() const {
    const std::scoped_lock lock{mutex_};
    return objects_.size();
  }

  std::vector<std::shared_ptr<T>> all() const {
    const std::scoped_lock lock{mutex_};
    std::vector<std::shared_ptr<T>> objects;
    for (const auto& [number, object] : objects_) objects.push_back(object);
    return objects;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::shared_ptr<T>> objects_;
};

}  // namespace tutti::standin
