/// @file
/// Gradients in memory of a GPU that a stream of the program's makes, and what holds that up.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <tutti/cuda.hpp>
#include <tutti/gradient_sync.hpp>

#include "gpu_world.hpp"
#include "tests/runtime/worlds.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {

/// Elements that sums of floats round, and no two of which are alike.
inline float rough_value(std::size_t layer, std::size_t element, Rank rank, int step) {
  const auto mixed = static_cast<unsigned>(layer * 7919 + element * 104'729 +
                                           static_cast<std::size_t>(rank) * 1'299'709 +
                                           static_cast<std::size_t>(step) * 15'485'863);
  return static_cast<float>(mixed * 2'654'435'761U >> 8) / 5'000'000.0F - 1.5F;
}

/// @return its mean over all ranks, in one more precision.
inline double rough_mean(std::size_t layer, std::size_t element, int ranks, int step) {
  double all = 0;
  for (Rank rank = 0; rank < ranks; ++rank) all += rough_value(layer, element, rank, step);
  return all / ranks;
}

/// A GPU, and the stream on which its program computes.
struct Gpu {
  explicit Gpu(int ordinal)
      : device{std::make_shared<const cuda::Device>(std::make_shared<const cuda::Driver>(),
                                                    ordinal)},
        memory{std::make_shared<cuda::DeviceMemory>(device)}, compute{*device}, other{*device} {}

  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes) const {
    return {memory->allocate(bytes),
            [own = memory, bytes](std::byte* data) { own->deallocate(data, bytes); }};
  }
  /// Enqueues a copy within the GPU on the program's stream, as a kernel would store its results.
  void enqueue_copy(void* to, const void* from, std::size_t bytes) const {
    if (bytes == 0) return;
    const cuda::Device::Current current{*device};
    device->driver().check(
        device->driver().calls().copy(cuda::address_of(to), cuda::address_of(from), bytes,
                                      static_cast<CUstream>(compute.get().handle())),
        "copy");
  }
  void wait() const { memory->wait(compute.get().handle()); }
  [[nodiscard]] bool is_idle() const {
    const cuda::Device::Current current{*device};
    return device->driver().calls().query(static_cast<CUstream>(compute.get().handle())) ==
           CUDA_SUCCESS;
  }

  std::shared_ptr<const cuda::Device> device;
  std::shared_ptr<cuda::DeviceMemory> memory;
  harness::OwnStream compute;
  harness::OwnStream other;
};

/// Holds up the program's stream until it is released.
class Hold {
 public:
  explicit Hold(const Gpu& gpu) : gpu_{gpu}, word_{gpu.allocate(8)} {
    const std::uint64_t zero = 0;
    gpu_.memory->copy(word_.get(), reinterpret_cast<const std::byte*>(&zero), sizeof zero);
    const cuda::Device::Current current{*gpu_.device};
    const cuda::Driver& driver = gpu_.device->driver();
    driver.check(driver.calls().wait_64(static_cast<CUstream>(gpu_.compute.get().handle()),
                                        cuda::address_of(word_.get()), 1, CU_STREAM_WAIT_VALUE_EQ),
                 "wait");
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  /// The word is free when no stream reads or writes it any more.
  ~Hold() {
    if (!is_released_) static_cast<void>(enqueue_release());
    for (const Stream stream : {gpu_.other.get(), gpu_.compute.get()}) {
      const cuda::Device::Current current{*gpu_.device};
      gpu_.device->driver().calls().synchronize(static_cast<CUstream>(stream.handle()));
    }
  }
  void release() {
    is_released_ = true;
    gpu_.device->driver().check(enqueue_release(), "write");
  }

 private:
  CUresult enqueue_release() const {
    const cuda::Device::Current current{*gpu_.device};
    return gpu_.device->driver().calls().write_64(static_cast<CUstream>(gpu_.other.get().handle()),
                                                  cuda::address_of(word_.get()), 1, 0);
  }

  const Gpu& gpu_;
  std::shared_ptr<std::byte> word_;
  bool is_released_ = false;
};

/// A model of f32 whose backward copies what it computed from one place of the GPU to another.
class GpuModel {
 public:
  GpuModel(const Gpu& gpu, std::vector<std::size_t> sizes) : gpu_{gpu}, sizes_{std::move(sizes)} {
    for (const std::size_t size : sizes_) {
      offsets_.push_back(total_);
      total_ += size;
    }
    gradients_ = gpu_.allocate(bytes());
    computed_ = gpu_.allocate(bytes());
    results_ = gpu_.allocate(bytes());
  }

  /// @return parameters that lie one behind the other.
  [[nodiscard]] std::vector<Parameter> parameters() const {
    std::vector<Parameter> all;
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      all.push_back({.name = "layer" + std::to_string(i), .data = place(i), .count = sizes_[i]});
    return all;
  }
  [[nodiscard]] float* place(std::size_t layer) const {
    return reinterpret_cast<float*>(gradients_.get()) + offsets_[layer];
  }
  /// Prepares a step: gradients are NaN until backward computes them.
  void prepare(Rank rank, int step) {
    std::vector<float> values(total_);
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      for (std::size_t e = 0; e < sizes_[i]; ++e)
        values[offsets_[i] + e] = rough_value(i, e, rank, step);
    store(computed_, values);
    store(gradients_, std::vector<float>(total_, std::nanf("")));
  }
  /// @param to where the gradient is to lie.
  void enqueue_gradient(std::size_t layer, void* to) const {
    const auto* const from = reinterpret_cast<const float*>(computed_.get()) + offsets_[layer];
    gpu_.enqueue_copy(to, from, sizes_[layer] * sizeof(float));
  }
  /// Reads a gradient as an optimizer does. @param from where the gradient lies.
  void enqueue_result(std::size_t layer, const void* from) const {
    auto* const to = reinterpret_cast<float*>(results_.get()) + offsets_[layer];
    gpu_.enqueue_copy(to, from, sizes_[layer] * sizeof(float));
  }
  /// @return where a gradient lies. @param sync whose views they are, if it has views.
  [[nodiscard]] void* place(GradientSync& sync, std::size_t layer) const {
    void* const view = sync.view(layer);
    return view == nullptr ? place(layer) : view;
  }
  /// From the last layer to the first.
  void go_backward(GradientSync& sync) const {
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      enqueue_gradient(i, place(sync, i));
      sync.ready(i);
    }
  }
  void enqueue_results(GradientSync& sync) const {
    for (std::size_t i = 0; i < sizes_.size(); ++i) enqueue_result(i, place(sync, i));
  }
  /// Waits for no stream. @return what is in a gradient now.
  [[nodiscard]] std::vector<float> gradient(std::size_t layer) const {
    std::vector<float> values(sizes_[layer]);
    gpu_.memory->copy(reinterpret_cast<std::byte*>(values.data()),
                      reinterpret_cast<const std::byte*>(place(layer)), values.size() * 4);
    return values;
  }
  /// Waits for the stream. @return the results of all layers.
  [[nodiscard]] std::vector<float> results() const {
    gpu_.wait();
    std::vector<float> values(total_);
    gpu_.memory->copy(reinterpret_cast<std::byte*>(values.data()), results_.get(), total_ * 4);
    return values;
  }
  /// @return what is wrong with results of all layers that should be means, or nothing.
  [[nodiscard]] std::string problem(const std::vector<float>& results, int ranks, int step) const {
    for (std::size_t i = 0; i < sizes_.size(); ++i)
      for (std::size_t e = 0; e < sizes_[i]; ++e) {
        const double wanted = rough_mean(i, e, ranks, step);
        const double got = results[offsets_[i] + e];
        if (!(std::abs(got - wanted) < 1e-5))
          return "step " + std::to_string(step) + ", layer " + std::to_string(i) + "[" +
                 std::to_string(e) + "] is " + std::to_string(got) + ", not " +
                 std::to_string(wanted);
      }
    return {};
  }
  [[nodiscard]] const std::vector<std::size_t>& sizes() const { return sizes_; }
  [[nodiscard]] std::size_t total() const { return total_; }
  [[nodiscard]] std::size_t offset(std::size_t layer) const { return offsets_[layer]; }

 private:
  [[nodiscard]] std::size_t bytes() const { return total_ * sizeof(float); }
  void store(const std::shared_ptr<std::byte>& to, const std::vector<float>& values) const {
    gpu_.memory->copy(to.get(), reinterpret_cast<const std::byte*>(values.data()), bytes());
  }

  const Gpu& gpu_;
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> offsets_{};
  std::size_t total_ = 0;
  std::shared_ptr<std::byte> gradients_{};
  std::shared_ptr<std::byte> computed_{};
  std::shared_ptr<std::byte> results_{};
};

/// The objects of a rank.
struct GpuRank {
  Communicator& world;
  const Gpu& gpu;
  Communicator& host;  ///< The same ranks without GPUs.
};

/// Runs a body on ranks that have a GPU each. @return what came of each.
inline std::vector<Outcome> outcomes_on_gpus(int ranks, const std::string& transport,
                                             const std::function<void(GpuRank)>& body) {
  return in_world({ranks, "shm", 1}, [&](Communicator& world) {
    const Gpu gpu{world.rank()};
    Communicator host = world.split(0);
    cuda::attach(world, {.device = world.rank(),
                         .transport = transport,
                         .visible = transport == "host",
                         .timeout = kAmple});
    body({world, gpu, host});
  });
}
/// The same, where none fails.
inline void on_gpus(int ranks, const std::string& transport,
                    const std::function<void(GpuRank)>& body) {
  expect_no_error(outcomes_on_gpus(ranks, transport, body));
}

}  // namespace tutti::test
