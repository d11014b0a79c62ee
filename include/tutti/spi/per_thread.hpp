/// @file
/// Objects of threads, for code that may run until the process ends.
#pragma once

#include <tutti/version.hpp>

namespace tutti::v0::detail {

/// One object of each thread. A thread that ends destroys its own; the main thread does so before
/// it calls functions of `atexit` and destructors of static objects, which may call tutti. They get
/// another object, which is never destroyed.
/// @tparam T a type that is used here only; made without arguments.
template <class T>
class PerThread {
 public:
  /// @return this thread's object.
  [[nodiscard]] static T& get() {
    if (!has_ended_) {
      thread_local Own own;
      return own.value;
    }
    if (late_ == nullptr) late_ = new T{};
    return *late_;
  }

 private:
  struct Own {
    T value{};
    Own() = default;
    Own(const Own&) = delete;
    Own& operator=(const Own&) = delete;
    ~Own() { has_ended_ = true; }
  };

  static inline constinit thread_local bool has_ended_ = false;
  static inline constinit thread_local T* late_ = nullptr;
};

}  // namespace tutti::v0::detail
