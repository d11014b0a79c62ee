// For builds without the CUDA toolkit.
#include "timed_stream.hpp"

#include <tutti/error.hpp>

namespace tutti::inline v0::cuda {
namespace {

[[noreturn]] void refuse() {
  throw Error{ErrorCode::transport,
              "this build has no CUDA: install the CUDA toolkit (nvcc, cuda.h) and NCCL (nccl.h), "
              "then build again"};
}

}  // namespace

int attach_in_turn(Communicator&, int, std::string_view, bool, Duration) {
  refuse();
}

std::unique_ptr<TimedStream> make_timed_stream(Communicator&, int, Duration) {
  refuse();
}

}  // namespace tutti::inline v0::cuda
