/// @file
/// A rank of a communicator of the stand-in for NCCL, for tests: a device, a stream, and memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include <cuda.h>
#include <gtest/gtest.h>
#include <nccl.h>

namespace tutti::nccl_standin {

inline constexpr int kDevices = 4;

/// The context of a device, which is current for this thread, and a stream.
class OnDevice {
 public:
  explicit OnDevice(int device);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

  CUstream stream() const { return stream_; }
  /// Makes the context current again.
  void use() const { EXPECT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS); }
  CUresult wait() const { return cuStreamSynchronize(stream_); }
  bool is_done() const { return cuStreamQuery(stream_) == CUDA_SUCCESS; }
  /// @return memory of the device for so many bytes; it is freed with this.
  void* allocate(std::size_t bytes);

  template <class T>
  T* put(const std::vector<T>& values) {
    void* const memory = allocate(values.size() * sizeof(T));
    copy(memory, values.data(), values.size() * sizeof(T));
    return static_cast<T*>(memory);
  }
  template <class T>
  std::vector<T> get(const T* from, std::size_t count) {
    std::vector<T> values(count);
    copy(values.data(), from, count * sizeof(T));
    return values;
  }

 private:
  void copy(void* to, const void* from, std::size_t bytes) const;

  int device_;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::vector<CUdeviceptr> memory_;
};

/// A rank; each has the device of its own number.
class Rank : public OnDevice {
 public:
  Rank(int rank, int size, const ncclUniqueId& id, bool blocking = true);
  ~Rank();

  int rank;
  int size;
  ncclComm_t communicator = nullptr;
  ncclResult_t started = ncclSuccess;

  int next() const { return (rank + 1) % size; }
  int previous() const { return (rank + size - 1) % size; }
  /// @return the first state that is not ncclInProgress.
  ncclResult_t state() const;
  /// @return the state once it is an error.
  ncclResult_t error() const;
  void abort();
};

ncclUniqueId make_id();

/// Waits until something holds. @return whether it does within some seconds.
bool becomes(const std::function<bool()>& condition);

/// Runs a function for every rank of a communicator, each in a thread.
void with_ranks(int size, const std::function<void(Rank&)>& body, bool blocking = true);

}  // namespace tutti::nccl_standin
