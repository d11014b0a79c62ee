/// @file
/// The parts of the stand-in, and the gate that every call of the driver passes.
#pragma once

#include <atomic>
#include <deque>
#include <new>
#include <string>
#include <string_view>

#include <cuda.h>

#include "tests/cuda/standin/calls.hpp"
#include "tests/cuda/standin/captures.hpp"
#include "tests/cuda/standin/event.hpp"
#include "tests/cuda/standin/handles.hpp"
#include "tests/cuda/standin/links.hpp"
#include "tests/cuda/standin/memory.hpp"
#include "tests/cuda/standin/module.hpp"
#include "tests/cuda/standin/processors.hpp"
#include "tests/cuda/standin/streams.hpp"

namespace tutti::standin {

/// The functions of a driver have no object to hold what they share, so it is one per process.
struct Driver {
  Calls calls;
  std::mutex starting;           ///< Held while the driver is initialised.
  std::deque<Context> contexts;  ///< One per device; fixed once the driver is initialised.
  Memory memory;
  Streams streams{number_setting("QUEUES")};
  Links links{setting("LINKS")};
  Processors processors;
  const std::string lacks = setting("LACKS");
  Handles<CUevent, Event> events;
  Handles<CUgreenCtx, Context> greens;  ///< They are like contexts, and never end.
  Handles<CUmodule, Module> modules;
  Handles<CUmemoryPool, Pool> pools;
  Functions functions;
  Graphs graphs;
  Handles<CUgraphExec, Executable> executables;
  Captures captures{graphs};
  std::atomic<std::size_t> newest_threads{0};  ///< Threads of the last kernel that was launched.
  std::atomic<int> process{0};                 ///< The process that initialised it; zero: none.
  std::atomic<bool> ended{false};

  /// @return null if there is no such context.
  Context* find(CUcontext handle);
  bool has_device(CUdevice device) const {
    return device >= 0 && static_cast<std::size_t>(device) < contexts.size();
  }
};

/// It is never destroyed: a program's destructors and threads may call it to the very end.
Driver& driver();

/// The context that is current for this thread, or null.
Context* current_context() noexcept;
void set_current_context(Context* context) noexcept;

/// Runs a host function, which may call nothing of the driver's.
void run_host_function(CUhostFn function, void* argument);

/// Waits for all that the devices have to do.
void wait_for_all_devices();

/// Enqueues work, or records it where the stream records.
CUresult submit(Stream& on, Work work);

/// The requirements of a function.
enum class Needs { nothing, initialisation, context };

/// Counts a call. @return what it fails with before it begins, or success.
CUresult begin(std::string_view function, Needs needs);

/// A call that needs no context. @param function its name. @param body does it.
template <class Body>
CUresult call(Needs needs, std::string_view function, Body body) noexcept {
  try {
    const CUresult refusal = begin(function, needs);
    return refusal == CUDA_SUCCESS ? body() : refusal;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// A call in the current context; nothing is done once that has failed.
/// @param function its name. @param body does it, given the context.
template <class Body>
CUresult call_in_context(std::string_view function, Body body) noexcept {
  return call(Needs::context, function, [&] {
    Context& context = *current_context();
    return context.error() == CUDA_SUCCESS ? body(context) : context.error();
  });
}

/// The same for a call that is unsafe while streams record: see cuThreadExchangeStreamCaptureMode.
template <class Body>
CUresult call_outside_captures(std::string_view function, Body body) noexcept {
  return call_in_context(function, [&](Context& context) {
    const CUresult refusal = driver().captures.reject_unsafe();
    return refusal == CUDA_SUCCESS ? body(context) : refusal;
  });
}

/// A call that gives something back, which is done in a failed context, too.
/// @param function its name. @param body does it, given the context.
template <class Body>
CUresult call_that_releases(std::string_view function, Body body) noexcept {
  return call(Needs::context, function, [&] {
    Context& context = *current_context();
    const CUresult result = body(context);
    return context.error() == CUDA_SUCCESS ? result : context.error();
  });
}

/// A call that gives something back, and is unsafe while streams record.
template <class Body>
CUresult call_that_releases_outside_captures(std::string_view function, Body body) noexcept {
  return call_that_releases(function, [&](Context& context) {
    const CUresult refusal = driver().captures.reject_unsafe();
    return refusal == CUDA_SUCCESS ? body(context) : refusal;
  });
}

/// A call of a stream, in the current context; the stream's own has not failed, either.
/// @param function its name. @param handle of the stream. @param body does it, given the stream.
template <class Body>
CUresult call_on_stream(std::string_view function, CUstream handle, Body body) noexcept {
  return call_in_context(function, [&](Context& context) {
    const auto stream = driver().streams.find(handle, context);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->is_default()) {
      const CUresult refusal = driver().captures.reject_default(context);
      if (refusal != CUDA_SUCCESS) return refusal;
    }
    const CUresult error = stream->context().error();
    return error == CUDA_SUCCESS ? body(*stream) : error;
  });
}

}  // namespace tutti::standin
