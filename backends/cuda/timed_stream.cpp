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

class DeviceStream final : public TimedStream {
 public:
  DeviceStream(Communicator& world, int ordinal, Duration timeout)
      : world_{world}, device_{std::make_shared<const Device>(std::make_shared<const Driver>(),
                                                              ordinal)},
        timeout_{timeout} {}

  std::string gpu() const override {
    return "GPU " + std::to_string(device_->ordinal()) + " " + device_->name();
  }
  std::string nccl() const override { return survey().nccl; }
  Stream stream() const override { return stream_.get(); }
  void wait() override { cuda::wait(world_, stream_.get(), timeout_); }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    enqueue_copy(*device_, to, from, bytes, stream_.get());
    wait();
  }
  double time_us(const std::function<void()>& enqueue) override {
    start_.record(stream_.get());
    enqueue();
    end_.record(stream_.get());
    wait();
    return end_.us_since(start_);
  }
  std::function<void()> capture(const std::function<void()>& enqueue) override {
    const DriverCalls& calls = device_->driver().calls();
    const Device::Current current{*device_};
    // Relaxed mode: meanwhile NCCL may allocate memory that is not part of the graph.
    device_->call("capture a stream", &DriverCalls::begin_capture, stream_.get(),
                  CU_STREAM_CAPTURE_MODE_RELAXED);
    CUgraph graph = nullptr;
    try {
      enqueue();
    } catch (...) {
      calls.end_capture(stream_.get(), &graph);
      if (graph != nullptr) calls.destroy_graph(graph);
      throw;
    }
    device_->call("capture a stream", &DriverCalls::end_capture, stream_.get(), &graph);
    CUgraphExec made = nullptr;
    const CUresult result = calls.make_executable(&made, graph, 0);
    calls.destroy_graph(graph);
    device_->driver().check(result, "make a graph");
    const std::shared_ptr<CUgraphExec_st> executable{
        made, [device = device_](CUgraphExec end) {
          device->within([&] { device->driver().calls().destroy_executable(end); });
        }};
    return [this, executable] {
      device_->call("launch a graph", &DriverCalls::launch_graph, executable.get(), stream_.get());
    };
  }

 private:
  Communicator& world_;
  std::shared_ptr<const Device> device_;
  Duration timeout_;
  OwnedStream stream_ = device_->make_stream();
  Event start_{device_, CU_EVENT_DEFAULT};
  Event end_{device_, CU_EVENT_DEFAULT};
};

}  // namespace

int attach_in_turn(Communicator& world, int local_rank, std::string_view transport, bool visible,
                   Duration timeout) {
  int device = 0;
  try {
    device = local_rank % std::max(Driver{}.devices(), 1);
  } catch (const Error&) {
    // attach finds the same error, and reports it to all ranks
  }
  attach(world, {.device = device, .transport = transport, .visible = visible, .timeout = timeout});
  return device;
}

std::unique_ptr<TimedStream> make_timed_stream(Communicator& world, int device, Duration timeout) {
  return std::make_unique<DeviceStream>(world, device, timeout);
}

}  // namespace tutti::v0::cuda
