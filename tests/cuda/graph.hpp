/// @file
/// A graph of what is enqueued on a stream, made without our library.
#pragma once

#include <cuda.h>

#include "backends/cuda/device.hpp"

namespace tutti::harness {

/// Captures a stream from where it is made until `end`, and then runs what was enqueued.
class Graph {
 public:
  /// @param device whose context. @param stream of it, on which nothing is captured.
  Graph(const cuda::Device& device, Stream stream)
      : device_{device}, stream_{static_cast<CUstream>(stream.handle())} {
    library_.find("cuStreamBeginCapture_v2", begin_);
    library_.find("cuStreamEndCapture", end_);
    library_.find("cuGraphInstantiateWithFlags", instantiate_);
    library_.find("cuGraphLaunch", launch_);
    library_.find("cuGraphExecDestroy", destroy_executable_);
    library_.find("cuGraphDestroy", destroy_);
    const cuda::Device::Current current{device_};
    check(begin_(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable_ != nullptr) destroy_executable_(executable_);
    if (graph_ != nullptr) destroy_(graph_);
  }

  /// Ends the capture.
  void end() {
    const cuda::Device::Current current{device_};
    check(end_(stream_, &graph_));
    check(instantiate_(&executable_, graph_, 0));
  }
  /// Enqueues what was captured.
  void launch() {
    const cuda::Device::Current current{device_};
    check(launch_(executable_, stream_));
  }

 private:
  void check(CUresult result) const { device_.driver().check(result, "use a graph"); }

  const cuda::Device& device_;
  CUstream stream_;
  cuda::Library library_{"libcuda.so.1"};
  decltype(&::cuStreamBeginCapture) begin_ = nullptr;
  decltype(&::cuStreamEndCapture) end_ = nullptr;
  CUresult (*instantiate_)(CUgraphExec*, CUgraph, unsigned long long) = nullptr;
  decltype(&::cuGraphLaunch) launch_ = nullptr;
  decltype(&::cuGraphExecDestroy) destroy_executable_ = nullptr;
  decltype(&::cuGraphDestroy) destroy_ = nullptr;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

}  // namespace tutti::harness
