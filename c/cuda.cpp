// Memory of GPUs.
#include <tutti/cuda.hpp>

#include "handles.hpp"

namespace tutti::v0::c {
namespace {

cuda::AttachOptions attach_options_of(const tutti_cuda_options* given) {
  tutti_cuda_options defaults{};
  tutti_cuda_options_defaults(&defaults, sizeof defaults);
  const tutti_cuda_options values = read(given, defaults);
  cuda::AttachOptions options{.device = values.device,
                              .visible = values.visible != 0,
                              .compare_calls = values.compare_calls != 0,
                              .nonblocking = values.nonblocking != 0};
  if (values.transport != nullptr) options.transport = values.transport;
  if (values.timeout != 0) options.timeout = duration_of(values.timeout);
  return options;
}

}  // namespace
}  // namespace tutti::v0::c

using namespace tutti::c;

extern "C" {

void tutti_cuda_options_defaults(tutti_cuda_options* options, size_t size) {
  const tutti::cuda::AttachOptions defaults;
  tutti_cuda_options values{};
  values.device = defaults.device;
  write(options, size, values);
}

tutti_status tutti_cuda_current_device(int32_t* device) {
  clear(device, -1);
  return guarded(device, "device", [&] { *device = tutti::cuda::current_device(); });
}

tutti_status tutti_cuda_attach(tutti_communicator* communicator,
                               const tutti_cuda_options* options) {
  return guarded(communicator, "communicator",
                 [&] { tutti::cuda::attach(communicator->world, attach_options_of(options)); });
}

tutti_status tutti_cuda_wait(tutti_communicator* communicator, void* stream, int64_t timeout) {
  return guarded(communicator, "communicator", [&] {
    if (timeout == 0) tutti::cuda::wait(communicator->world, tutti::Stream{stream});
    else tutti::cuda::wait(communicator->world, tutti::Stream{stream}, duration_of(timeout));
  });
}

tutti_status tutti_cuda_allocate(tutti_communicator* communicator, size_t bytes,
                                 tutti_memory** result) {
  return made(result, [&] {
    require(communicator, "communicator");
    return tutti::cuda::allocate<std::byte>(communicator->world, bytes);
  });
}

}  // extern "C"
