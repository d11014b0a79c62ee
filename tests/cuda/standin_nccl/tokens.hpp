/// @file
/// Handles that stand for nothing but themselves.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace tutti::nccl_standin {

class Tokens {
 public:
  void* add() {
    const std::scoped_lock lock{mutex_};
    return tokens_.insert(std::make_unique<char>()).first->get();
  }
  /// @return false if there is no such handle.
  bool remove(const void* handle) {
    const std::scoped_lock lock{mutex_};
    return std::erase_if(tokens_, [&](const auto& one) { return one.get() == handle; }) > 0;
  }
  /// Forgets all. @return how many there were.
  int clear() {
    const std::scoped_lock lock{mutex_};
    return static_cast<int>(std::exchange(tokens_, {}).size());
  }

 private:
  std::mutex mutex_;
  std::set<std::unique_ptr<char>> tokens_;
};

}  // namespace tutti::nccl_standin
