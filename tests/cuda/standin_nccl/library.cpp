#include "library.hpp"

#include <cstdlib>
#include <iterator>
#include <utility>

#include "failure.hpp"

namespace tutti::nccl_standin {

ncclComm_t Communicators::add(std::shared_ptr<Communicator> communicator) {
  const std::scoped_lock lock{mutex_};
  const auto handle = reinterpret_cast<ncclComm_t>(communicator.get());
  by_handle_.emplace(handle, std::move(communicator));
  return handle;
}

std::shared_ptr<Communicator> Communicators::find(ncclComm_t handle) const {
  const std::scoped_lock lock{mutex_};
  const auto found = by_handle_.find(handle);
  require(found != by_handle_.end(), ncclInvalidArgument, "there is no such communicator");
  return found->second;
}

void Communicators::remove(ncclComm_t handle) {
  const std::scoped_lock lock{mutex_};
  by_handle_.erase(handle);
}

std::vector<std::shared_ptr<Communicator>> Communicators::all() const {
  const std::scoped_lock lock{mutex_};
  std::vector<std::shared_ptr<Communicator>> all;
  for (const auto& entry : by_handle_) all.push_back(entry.second);
  return all;
}

void* Launches::add(std::unique_ptr<Communicator::Launch> launch) {
  const std::scoped_lock lock{mutex_};
  void* const handle = launch.get();
  by_handle_.emplace(handle, std::move(launch));
  return handle;
}

std::unique_ptr<Communicator::Launch> Launches::pop(void* handle) {
  const std::scoped_lock lock{mutex_};
  return std::move(by_handle_.extract(handle).mapped());
}

void Allocations::add(void* start, std::size_t bytes) {
  const std::scoped_lock lock{mutex_};
  bytes_[start] = bytes;
}

bool Allocations::has(const void* data) const {
  const std::scoped_lock lock{mutex_};
  const auto after = bytes_.upper_bound(data);
  if (after == bytes_.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  return data < static_cast<const std::byte*>(start) + bytes;
}

bool Allocations::remove(void* start) {
  const std::scoped_lock lock{mutex_};
  return bytes_.erase(start) > 0;
}

std::size_t Allocations::size() const {
  const std::scoped_lock lock{mutex_};
  return bytes_.size();
}

int kernels_at_once() {
  constexpr int kUsual = 8;
  const std::string told = setting("NCCL_KERNELS");
  return told.empty() ? kUsual : std::atoi(told.c_str());
}

Library& library() {
  static auto* const only = new Library;
  return *only;
}

}  // namespace tutti::nccl_standin
