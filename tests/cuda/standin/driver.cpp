#include "driver.hpp"

#include <algorithm>

#include <unistd.h>

namespace tutti::standin {
namespace {

thread_local Context* current = nullptr;
thread_local bool in_host_function = false;

}  // namespace

Driver& driver() {
  static auto* const only = new Driver;
  return *only;
}

Context* Driver::find(CUcontext handle) {
  const auto found = std::find_if(contexts.begin(), contexts.end(),
                                  [&](Context& context) { return context.handle() == handle; });
  if (found != contexts.end()) return &*found;
  for (const auto& green : greens.all())
    if (green->handle() == handle) return green.get();
  return nullptr;
}

Context* current_context() noexcept {
  return current;
}

void set_current_context(Context* context) noexcept {
  current = context;
}

void run_host_function(CUhostFn function, void* argument) {
  in_host_function = true;
  function(argument);
  in_host_function = false;
}

void wait_for_all_devices() {
  Driver& state = driver();
  for (const Context& context : state.contexts) state.streams.wait_for(context.device());
}

CUresult submit(Stream& on, Work work) {
  if (!driver().captures.records(on)) return on.enqueue(std::move(work));
  const auto recorded = driver().captures.record_work(on, work);
  return recorded ? *recorded : on.enqueue(std::move(work));
}

CUresult begin(std::string_view function, Needs needs) {
  Driver& state = driver();
  if (state.calls.count(function)) return CUDA_ERROR_UNKNOWN;
  if (needs == Needs::nothing) return CUDA_SUCCESS;
  if (state.ended) return CUDA_ERROR_DEINITIALIZED;
  if (in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  // A child of the process that initialised the driver has none, as with the real one.
  if (state.process != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  if (needs == Needs::initialisation) return CUDA_SUCCESS;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return current->is_active() ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

}  // namespace tutti::standin
