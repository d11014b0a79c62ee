/// @file
/// Handles of memory registered with a communicator.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace tutti::nccl_standin {

class Tokens {
 public:
  void* add(const void* start, std::size_t bytes) {
    const std::scoped_lock lock{mutex_};
    const Range range{reinterpret_cast<std::uintptr_t>(start), bytes};
    return tokens_.emplace(std::make_unique<char>(), range).first->first.get();
  }
  /// @return false if there is no such handle.
  bool remove(const void* handle) {
    const std::scoped_lock lock{mutex_};
    return std::erase_if(tokens_, [&](const auto& one) { return one.first.get() == handle; }) > 0;
  }
  /// Forgets all. @return how many there were.
  int clear() {
    const std::scoped_lock lock{mutex_};
    return static_cast<int>(std::exchange(tokens_, {}).size());
  }
  /// @return how many bytes lie before an address in the memory of a handle that has it; nothing:
  /// no handle has it.
  std::optional<std::size_t> offset_of(const void* data) const {
    const std::scoped_lock lock{mutex_};
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    for (const auto& [token, range] : tokens_)
      if (address >= range.start && address - range.start < range.bytes)
        return address - range.start;
    return {};
  }

 private:
  struct Range {
    std::uintptr_t start = 0;
    std::size_t bytes = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::unique_ptr<char>, Range> tokens_;
};

}  // namespace tutti::nccl_standin
