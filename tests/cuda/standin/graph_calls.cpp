// The driver's functions of graphs.
#include <algorithm>

#include "tests/cuda/standin/driver.hpp"
#include "tests/cuda/standin/hooks.hpp"

using namespace tutti::standin;

namespace {

// A graph that no stream records into any more; null if there is none.
std::shared_ptr<Graph> find_closed(CUgraph handle) {
  auto graph = driver().graphs.find(handle);
  return graph != nullptr && graph->is_closed() ? graph : nullptr;
}

CUresult instantiate(CUgraphExec* executable, CUgraph handle, std::uint64_t flags) {
  constexpr std::uint64_t kAll = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                 CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                 CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  const auto graph = find_closed(handle);
  if (executable == nullptr || graph == nullptr || (flags & ~kAll) != 0)
    return CUDA_ERROR_INVALID_VALUE;
  // Two of them would use the same addresses at the same time.
  if (graph->has_memory() && graph->instances() > 0) return CUDA_ERROR_NOT_SUPPORTED;
  const bool frees = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
  *executable = driver().executables.add(std::make_shared<Executable>(graph, frees));
  return CUDA_SUCCESS;
}

// A recorded launch may have no memory of its own.
CUresult launch(Executable& executable, Stream& on) {
  Captures& captures = driver().captures;
  if (!captures.records(on)) return executable.launch(on);
  if (executable.graph()->has_memory()) return CUDA_ERROR_NOT_SUPPORTED;
  const auto add = [graph = executable.graph()](std::vector<Work>& to) { graph->append(to); };
  return captures.record(on, {.add = add, .after = {}}).value_or(CUDA_ERROR_INVALID_VALUE);
}

}  // namespace

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                     unsigned long long flags) {
  return call_in_context(__func__, [&](Context&) { return instantiate(executable, graph, flags); });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* executable, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return call_in_context(__func__, [&](Context&) {
    if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUresult result = instantiate(executable, graph, parameters->flags);
    parameters->hErrNode_out = nullptr;
    parameters->result_out =
        result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
    return result;
  });
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return call_on_stream(__func__, stream, [&](Stream& on) {
    const auto found = driver().executables.find(executable);
    return found == nullptr ? CUDA_ERROR_INVALID_VALUE : launch(*found, on);
  });
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return call(Needs::initialisation, __func__, [&] {
    return driver().executables.pop(executable) == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                           : CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return call(Needs::initialisation, __func__, [&] {
    if (find_closed(graph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    driver().graphs.pop(graph);
    return CUDA_SUCCESS;
  });
}

CUresult tutti_standin_record(CUstream handle, Recording recording) {
  Context* const context = current_context();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const auto stream = driver().streams.find(handle, *context);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::shared_ptr<void> what{recording.what, recording.forget};
  const auto add = [what, recording](std::vector<Work>& to) {
    to.push_back(
        {.run = [run = recording.run, prepared = recording.prepare(what.get())](const Stream&) {
          run_host_function(run, prepared);
          return CUDA_SUCCESS;
        }});
  };
  const auto recorded = driver().captures.record(*stream, {.add = add, .after = {}});
  return recorded.value_or(CUDA_ERROR_INVALID_VALUE);
}
