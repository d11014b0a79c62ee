/// @file
/// Ranks of one process, each with a device of its own: threads, and shared memory for what the
/// host says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tutti/cuda.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/memory.hpp>

#include "backends/cuda/device_memory.hpp"
#include "tests/conformance/backends.hpp"
#include "tests/support/each_rank.hpp"

namespace tutti::harness {

/// @param ranks that a test has. @return why it cannot run here, or nothing.
[[nodiscard]] inline std::string lack_of(int ranks) {
  const int devices = cuda::Driver{}.devices();
  return devices >= ranks ? std::string{}
                          : std::to_string(ranks) + " ranks need as many GPUs; here are " +
                                std::to_string(devices);
}

/// A stream of a device, made without our library.
class OwnStream {
 public:
  explicit OwnStream(const cuda::Device& device) : device_{device} {
    const cuda::Device::Current current{device_};
    device_.driver().check(device_.driver().calls().create_stream(&stream_, CU_STREAM_NON_BLOCKING),
                           "make a stream");
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { device_.destroy(stream_); }
  [[nodiscard]] Stream get() const { return stream_; }

 private:
  const cuda::Device& device_;
  CUstream stream_ = nullptr;
};

/// All ranks of one process, each with a device of its own.
class GpuWorld {
 public:
  explicit GpuWorld(int size) : links_{conformance::shm_backend().connect({.size = size})} {
    std::vector<Rank> members;
    for (Rank rank = 0; rank < size; ++rank) members.push_back(rank);
    for (Rank rank = 0; rank < size; ++rank) {
      ranks_.push_back(make_communicator(
          links_->transport(rank, {.communicator = 1, .members = members, .alarm = alarm_}),
          make_host_memory(), {.timeout = std::chrono::seconds{30}}));
      devices_.push_back(std::make_shared<const cuda::Device>(driver_, rank));
      memories_.push_back(std::make_shared<cuda::DeviceMemory>(devices_.back()));
    }
  }
  Communicator& operator[](Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const cuda::Device& device(Rank rank) const {
    return *devices_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] const std::shared_ptr<cuda::DeviceMemory>& memory(Rank rank) const {
    return memories_[static_cast<std::size_t>(rank)];
  }
  /// Runs a function on each rank, in threads. @return what each threw, or nothing.
  template <class Body>
  std::vector<std::string> run(const Body& body) {
    return errors_of_ranks(static_cast<int>(ranks_.size()), body);
  }

 private:
  std::shared_ptr<Alarm> alarm_ = std::make_shared<Alarm>();
  std::unique_ptr<conformance::Links> links_;
  std::shared_ptr<const cuda::Driver> driver_ = std::make_shared<const cuda::Driver>();
  std::vector<Communicator> ranks_{};
  std::vector<std::shared_ptr<const cuda::Device>> devices_{};
  std::vector<std::shared_ptr<cuda::DeviceMemory>> memories_{};
};

}  // namespace tutti::harness
