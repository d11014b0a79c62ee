/// @file
/// Objects that are kept for reuse: after warm-up nothing is allocated.
#pragma once

#include <memory>
#include <vector>

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// Makes objects, and keeps released ones for reuse. T::reset prepares a used one.
template <class T>
class Pool {
 public:
  /// @return an object that is new, or as new except for memory that it kept. The pool owns it.
  [[nodiscard]] T* acquire() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>());
      free_.reserve(all_.capacity());  // so that release cannot fail
      return all_.back().get();
    }
    T* const object = free_.back();
    free_.pop_back();
    object->reset();
    return object;
  }
  /// @param object that acquire returned.
  void release(T* object) noexcept { free_.push_back(object); }

 private:
  std::vector<std::unique_ptr<T>> all_{};
  std::vector<T*> free_{};
};

}  // namespace tutti::v0::detail
