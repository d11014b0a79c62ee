/// @file
/// A graph of what is enqueued on a stream, made without our library.
#pragma once

#include <cuda.h>

#include "backends/cuda/device.hpp"

namespace tutti::harness {

/// Captures a stream from its construction until `end`, and then runs what was enqueued.
class Graph {
 public:
  Graph(const cuda::Device& device, Stream stream)
      : device_{device}, calls_{device.driver().calls()}, stream_{static_cast<CUstream>(
                                                              stream.handle())} {
    device_.call(kWhat, &cuda::DriverCalls::begin_capture, stream_, CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (executable_ != nullptr) calls_.destroy_executable(executable_);
    if (graph_ != nullptr) calls_.destroy_graph(graph_);
  }

  /// Ends the capture.
  void end() {
    device_.call(kWhat, &cuda::DriverCalls::end_capture, stream_, &graph_);
    device_.call(kWhat, &cuda::DriverCalls::make_executable, &executable_, graph_, 0ULL);
  }
  /// Enqueues what was captured.
  void launch() { device_.call(kWhat, &cuda::DriverCalls::launch_graph, executable_, stream_); }

 private:
  static constexpr const char* kWhat = "use a graph";

  const cuda::Device& device_;
  const cuda::DriverCalls& calls_;
  CUstream stream_;
  CUgraph graph_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

}  // namespace tutti::harness
