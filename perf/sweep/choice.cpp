#include "perf/sweep/choice.hpp"

#include <nlohmann/json.hpp>

#include "collectives/binding/select_for.hpp"
#include "perf/sweep/buffers.hpp"
#include "perf/units.hpp"

namespace tutti::perf {

namespace {

constexpr const char* kNativeChoice = "native";

// Predicted time in microseconds.
double in_microseconds(Femtoseconds time) {
  return static_cast<double>(time / 1'000'000) / 1000;
}

// The choice as a sweep names it. A sweep measures each algorithm with its usual segments; other
// segments are part of the name.
std::string label_of(const detail::Candidate& candidate, std::size_t bytes) {
  const std::size_t usual = candidate.choice.algorithm->segment_bytes;
  const bool is_usual = candidate.segment_bytes == (usual < bytes ? usual : 0);
  if (is_usual) return candidate.choice.text();
  return candidate.choice.text() + "/" +
         (candidate.segment_bytes == 0 ? "whole" : format_bytes(candidate.segment_bytes));
}

}  // namespace

nlohmann::ordered_json choice_of(MeasuredWorld& world, const Workload& workload, bool visible) {
  const Buffers buffers{workload, world.communicator().rank()};
  const Options options{.visible = visible,
                        .stream = world.gpu() == nullptr ? Stream{} : world.gpu()->stream(),
                        .counts = buffers.counts()};
  const Call& call = buffers.calls().front();
  const detail::Selection selection = select_for(world.communicator(), call, options);
  nlohmann::ordered_json record{
      {"record", "choice"},
      {"collective", name_of(workload)},
      {"bytes", total_bytes(workload)},
      {"chosen", selection.chosen.choice.text()},
      {"label", label_of(selection.chosen, total_bytes(workload))},
      {"segment_bytes", selection.chosen.segment_bytes},
      {"transport", selection.transport},
      {"basis", selection.chosen.is_measured ? "measured" : "least predicted time"},
      {"times", selection.times},
      {"rests_on", selection.chosen.is_measured ? selection.measured : selection.costs},
      {"candidates", nlohmann::ordered_json::array()}};
  for (const detail::Candidate& candidate : selection.candidates) {
    const bool serves = candidate.refusal.empty();
    record["candidates"].push_back(
        {{"algorithm", candidate.choice.text()},
         {"label", label_of(candidate, total_bytes(workload))},
         {"segment_bytes", candidate.segment_bytes},
         {"predicted_us", serves ? nlohmann::ordered_json(in_microseconds(candidate.predicted))
                                 : nlohmann::ordered_json(nullptr)},
         {"refusal", candidate.refusal}});
  }
  if (world.gpu() != nullptr &&
      world.communicator().plan().run(call, options).algorithm() == kNativeChoice)
    record.update({{"chosen", kNativeChoice},
                   {"label", kNativeChoice},
                   {"segment_bytes", 0},
                   {"basis", "a call of the library's own"},
                   {"rests_on", world.communicator().explain(call, options)}});
  return record;
}

}  // namespace tutti::perf
