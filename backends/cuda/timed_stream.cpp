#include "timed_stream.hpp"

#include <algorithm>
#include <utility>

#include <tutti/cuda.hpp>

#include "device.hpp"
#include "enqueue.hpp"
#include "event.hpp"
#include "survey.hpp"

namespace tutti::v0::cuda {
namespace {

/// What a stream is given until this ends is captured.
class Capture {
 public:
  Capture(const Device& device, CUstream stream) : device_{device}, stream_{stream} {
    // Relaxed: memory that NCCL allocates meanwhile is none of the graph's.
    device_.driver().check(
        device_.driver().calls().begin_capture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED),
        "capture a stream");
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() {
    if (stream_ != nullptr) device_.driver().calls().end_capture(stream_, &graph_);
    if (graph_ != nullptr) device_.driver().calls().destroy_graph(graph_);
  }
  /// @return the graph, until this ends.
  [[nodiscard]] CUgraph end() {
    device_.driver().check(
        device_.driver().calls().end_capture(std::exchange(stream_, nullptr), &graph_),
        "capture a stream");
    return graph_;
  }

 private:
  const Device& device_;
  CUstream stream_;  // null: the capture is over
  CUgraph graph_ = nullptr;
};

class DeviceGraph final : public CapturedGraph {
 public:
  DeviceGraph(const Device& device, CUstream stream, const std::function<void()>& enqueue)
      : device_{device}, stream_{stream} {
    const Device::Current current{device_};
    Capture capture{device_, stream_};
    enqueue();
    device_.driver().check(device_.driver().calls().make_executable(&executable_, capture.end(), 0),
                           "make a graph");
  }
  ~DeviceGraph() override {
    device_.within([this] { device_.driver().calls().destroy_executable(executable_); });
  }
  void launch() override {
    const Device::Current current{device_};
    device_.driver().check(device_.driver().calls().launch_graph(executable_, stream_),
                           "launch a graph");
  }

 private:
  const Device& device_;
  CUstream stream_;
  CUgraphExec executable_ = nullptr;
};

class DeviceStream final : public TimedStream {
 public:
  DeviceStream(Communicator& world, int ordinal, Duration timeout)
      : world_{world}, shared_{std::make_shared<const Device>(std::make_shared<const Driver>(),
                                                              ordinal)},
        timeout_{timeout} {}
  ~DeviceStream() override { device_.destroy(stream_); }

  std::string gpu() const override {
    return "GPU " + std::to_string(device_.ordinal()) + " " + device_.name();
  }
  std::string nccl() const override { return survey().nccl; }
  Stream stream() const override { return stream_; }
  void wait() override { cuda::wait(world_, stream_, timeout_); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    {
      const Device::Current current{device_};
      enqueue_copy(device_, to, from, bytes, stream_);
    }
    wait();
  }
  double time_us(const std::function<void()>& enqueue) override {
    start_.record(stream_);
    enqueue();
    end_.record(stream_);
    wait();
    return end_.us_since(start_);
  }
  std::unique_ptr<CapturedGraph> capture(const std::function<void()>& enqueue) override {
    return std::make_unique<DeviceGraph>(device_, stream_, enqueue);
  }

 private:
  Communicator& world_;
  std::shared_ptr<const Device> shared_;
  const Device& device_ = *shared_;
  Duration timeout_;
  CUstream stream_ = device_.make_stream();
  Event start_{shared_, CU_EVENT_DEFAULT};
  Event end_{shared_, CU_EVENT_DEFAULT};
};

}  // namespace

int attach_in_turn(Communicator& world, int local_rank, std::string_view transport, bool visible,
                   Duration timeout) {
  int device = 0;
  try {
    device = local_rank % std::max(Driver{}.devices(), 1);
  } catch (const Error&) {
    // The other ranks are told by attach, which finds the same.
  }
  attach(world, {.device = device, .transport = transport, .visible = visible, .timeout = timeout});
  return device;
}

std::unique_ptr<TimedStream> make_timed_stream(Communicator& world, int device, Duration timeout) {
  return std::make_unique<DeviceStream>(world, device, timeout);
}

}  // namespace tutti::v0::cuda
