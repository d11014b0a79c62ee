// For builds without the CUDA toolkit.
#include <tutti/cuda.hpp>
#include <tutti/error.hpp>

#include "survey.hpp"
#include "timed_stream.hpp"

namespace tutti::v0::cuda {
namespace {

[[noreturn]] void reject() {
  throw Error{ErrorCode::transport,
              "this build has no CUDA: install the CUDA toolkit (nvcc, cuda.h) and NCCL (nccl.h), "
              "then build again"};
}

}  // namespace

Survey survey() {
  const std::string why = "built without the CUDA toolkit: install it, then build again";
  return {.why_no_driver = why, .why_no_nccl = why};
}

int current_device() {
  reject();
}

void attach(Communicator&, const AttachOptions&) {
  reject();
}

void wait(Communicator&, Stream, Duration) {
  reject();
}

std::shared_ptr<std::byte> allocate_bytes(Communicator&, std::size_t) {
  reject();
}

int attach_in_turn(Communicator&, int, std::string_view, bool, Duration) {
  reject();
}

std::unique_ptr<TimedStream> make_timed_stream(Communicator&, int, Duration) {
  reject();
}

}  // namespace tutti::v0::cuda
