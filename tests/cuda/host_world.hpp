/// @file
/// Functions for tests of messages over the host.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <tutti/cuda.hpp>

#include "gpu_world.hpp"
#include "tests/support/patience.hpp"

namespace tutti::harness {

/// Attaches a rank's device by "host". @param timeout as cuda::AttachOptions. @param visible
inline void attach_by_host(GpuWorld& world, Rank rank, Duration timeout = test::kAmple,
                           bool visible = false) {
  cuda::attach(world[rank], {.device = world.device(rank).ordinal(),
                             .transport = "host",
                             .visible = visible,
                             .timeout = timeout});
}

/// Attaches all devices by "host", then runs a body on each rank, of which none fails.
inline void on_host(GpuWorld& world, const std::function<void(Rank)>& body) {
  for (const std::string& error : world.run([&](Rank rank) {
         attach_by_host(world, rank);
         body(rank);
       }))
    EXPECT_EQ(error, "");
}

/// @param device with a stream. @param stream of it. @param patience how long it has. @return
/// whether it has done everything within that time.
inline bool comes_to_an_end(const cuda::Device& device, Stream stream,
                            Duration patience = test::kAmple) {
  const cuda::Device::Current current{device};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto& calls = device.driver().calls();
  while (calls.query(static_cast<CUstream>(stream.handle())) != CUDA_SUCCESS) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

/// Keeps a stream from going on, from where it is made until it is opened, or ends. It calls
/// nothing that waits for other streams.
class Barrier {
 public:
  /// @param memory of the stream's device.
  Barrier(std::shared_ptr<cuda::DeviceMemory> memory, Stream stream)
      : memory_{std::move(memory)}, word_{memory_->allocate_word()} {
    memory_->device().call("have a stream wait", &cuda::DriverCalls::wait_64,
                           static_cast<CUstream>(stream.handle()), cuda::address_of(word_),
                           std::uint64_t{1}, unsigned{CU_STREAM_WAIT_VALUE_EQ});
  }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  ~Barrier() { open(); }
  void open() { std::atomic_ref{*word_}.store(1); }

 private:
  std::shared_ptr<cuda::DeviceMemory> memory_;
  std::uint64_t* word_;
};

/// @return a rank's numbers, each of which says where it belongs.
inline std::vector<float> numbers_of(Rank rank, std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>(i % 1'000'003) + 0.125F * static_cast<float>(rank);
  return numbers;
}

}  // namespace tutti::harness
