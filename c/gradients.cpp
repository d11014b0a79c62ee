// GradientSync.
#include <string>

#include "handles.hpp"

namespace tutti::v0::c {
namespace {

std::vector<Parameter> parameters_of(const tutti_parameter* given, std::size_t count) {
  if (count > 0) require(given, "parameters");
  tutti_parameter defaults{};
  tutti_parameter_defaults(&defaults, sizeof defaults);
  std::vector<Parameter> parameters;
  const auto* next = reinterpret_cast<const std::byte*>(given);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* const one = reinterpret_cast<const tutti_parameter*>(next);
    const tutti_parameter values = read(one, defaults);
    parameters.push_back({.name = std::string{view_of(values.name)},
                          .data = values.data,
                          .count = values.count,
                          .type = datatype_of(values.type),
                          .group = values.group,
                          .layout = values.layout,
                          .rows = values.rows,
                          .visible = values.visible != 0,
                          .tied = values.tied != 0});
    next += one->size;
  }
  return parameters;
}

template <class Enum, class Given>
Enum gradient_enumerator_of(Given value, const char* name) {
  return enumerator_of<Enum>(value, gradient_enumerators<Enum>().size(), name);
}

/// @param parameters how many there are.
GradientOptions gradient_options_of(const tutti_gradient_options* given, std::size_t parameters) {
  tutti_gradient_options defaults{};
  tutti_gradient_options_defaults(&defaults, sizeof defaults);
  const tutti_gradient_options values = read(given, defaults);
  GradientOptions options;
  options.bucket_bytes = values.bucket_bytes;
  options.first_bucket_bytes = values.first_bucket_bytes;
  options.in_place_bytes = values.in_place_bytes;
  options.order = gradient_enumerator_of<GradientOrder>(values.order, "tutti_gradient_order");
  options.storage =
      gradient_enumerator_of<GradientStorage>(values.storage, "tutti_gradient_storage");
  options.unused = gradient_enumerator_of<UnusedGradients>(values.unused, "tutti_unused_gradients");
  options.average = values.average != 0;
  options.check_finite = values.check_finite != 0;
  options.norm = values.norm != 0;
  options.max_norm = values.max_norm;
  options.hash = values.hash != 0;
  options.compression = view_of(values.compression);
  options.compression_after = values.compression_after;
  options.verify_every = values.verify_every;
  options.resync_every = values.resync_every;
  options.state = parameters_of(values.state, values.state_count);
  if (values.group_count > 0) require(values.groups, "tutti_gradient_options::groups");
  for (std::size_t i = 0; i < values.group_count; ++i) {
    require(values.groups[i], "a group");
    options.groups.push_back(&values.groups[i]->world);
  }
  options.in_flight = values.in_flight;
  options.timeout = duration_of(values.timeout);
  options.algorithm = view_of(values.algorithm);
  if (values.known_order_count > 0)
    require(values.known_order, "tutti_gradient_options::known_order");
  if (values.known_order_count > parameters)
    throw Error{ErrorCode::invalid_argument, "tutti_gradient_options::known_order_count is " +
                                                 std::to_string(values.known_order_count) +
                                                 ", but the number of parameters is " +
                                                 std::to_string(parameters)};
  if (values.known_order != nullptr)
    options.known_order.assign(values.known_order, values.known_order + values.known_order_count);
  options.record = values.record;
  if (values.has_stream != 0) options.stream = Stream{values.stream};
  return options;
}

void write_report(tutti_step_report* to, const StepReport& report) {
  write(to, to->size,
        {.size = to->size,
         .step = report.step,
         .active = report.active,
         .computing = report.computing.count(),
         .exposed = report.exposed.count(),
         .waiting = report.waiting.count(),
         .communicating = report.communicating.count(),
         .hidden = report.hidden,
         .skew = report.skew.count(),
         .last = report.last,
         .norm = report.norm,
         .hash = report.hash,
         .not_finite_count = report.not_finite.count,
         .not_finite_parameter = report.not_finite.parameter,
         .not_finite_bucket = report.not_finite.bucket,
         .not_finite_rank = report.not_finite.rank,
         .sent_bytes = report.sent_bytes,
         .plain_bytes = report.plain_bytes});
}

}  // namespace
}  // namespace tutti::v0::c

using namespace tutti::c;

extern "C" {

void tutti_parameter_defaults(tutti_parameter* parameter, size_t size) {
  tutti_parameter values{};
  values.type = TUTTI_F32;
  write(parameter, size, values);
}

void tutti_gradient_options_defaults(tutti_gradient_options* options, size_t size) {
  const tutti::GradientOptions defaults;
  tutti_gradient_options values{};
  values.bucket_bytes = defaults.bucket_bytes;
  values.first_bucket_bytes = defaults.first_bucket_bytes;
  values.in_place_bytes = defaults.in_place_bytes;
  values.order = static_cast<tutti_gradient_order>(defaults.order);
  values.storage = static_cast<tutti_gradient_storage>(defaults.storage);
  values.unused = static_cast<tutti_unused_gradients>(defaults.unused);
  values.average = defaults.average ? 1 : 0;
  values.in_flight = defaults.in_flight;
  write(options, size, values);
}

tutti_status tutti_make_gradient_sync(tutti_communicator* communicator,
                                      const tutti_parameter* parameters, size_t count,
                                      const tutti_gradient_options* options,
                                      tutti_gradient_sync** result) {
  return made(result, [&] {
    require(communicator, "communicator");
    return tutti::GradientSync{communicator->world, parameters_of(parameters, count),
                               gradient_options_of(options, count)};
  });
}

void tutti_gradient_sync_free(tutti_gradient_sync* sync) {
  delete sync;
}

void tutti_gradient_ready(tutti_gradient_sync* sync, size_t parameter) {
  if (sync != nullptr) sync->sync.ready(parameter);
}

void tutti_gradient_accumulated(tutti_gradient_sync* sync, size_t parameter) {
  if (sync != nullptr) sync->sync.accumulated(parameter);
}

tutti_status tutti_gradient_wait(tutti_gradient_sync* sync, tutti_step_report* report) {
  const tutti_status checked = guarded(sync, "sync", [&] {
    if (report != nullptr) check_size(*report);
  });
  if (checked != TUTTI_OK) return checked;
  const tutti_status status = guarded([&] { sync->sync.wait(); });
  // The report of a void step has the cause.
  if (report != nullptr && (status == TUTTI_OK || status == TUTTI_INVALID_ARGUMENT))
    write_report(report, sync->sync.last_step());
  return status;
}

tutti_status tutti_gradient_join(tutti_gradient_sync* sync, uint64_t* steps) {
  clear(steps);
  return guarded(sync, "sync", [&] { clear(steps, sync->sync.join()); });
}

tutti_status tutti_gradient_synchronize(tutti_gradient_sync* sync, int64_t timeout) {
  return guarded(sync, "sync", [&] { sync->sync.synchronize(duration_of(timeout)); });
}

void* tutti_gradient_view(const tutti_gradient_sync* sync, size_t parameter) {
  return sync == nullptr ? nullptr : sync->sync.view(parameter);
}

tutti_status tutti_broadcast_state(tutti_gradient_sync* sync, const tutti_parameter* arrays,
                                   size_t count, int32_t root) {
  return guarded(sync, "sync",
                 [&] { sync->sync.broadcast_state(parameters_of(arrays, count), root); });
}

tutti_status tutti_verify_state(tutti_gradient_sync* sync, const tutti_parameter* arrays,
                                size_t count) {
  return guarded(sync, "sync", [&] { sync->sync.verify_state(parameters_of(arrays, count)); });
}

tutti_status tutti_average_buffers(tutti_gradient_sync* sync, const tutti_parameter* arrays,
                                   size_t count) {
  return guarded(sync, "sync", [&] { sync->sync.average_buffers(parameters_of(arrays, count)); });
}

uint64_t tutti_gradient_plan_hash(const tutti_gradient_sync* sync) {
  return sync == nullptr ? 0 : sync->sync.plan_hash();
}

size_t tutti_gradient_bucket_count(const tutti_gradient_sync* sync) {
  return sync == nullptr ? 0 : sync->sync.buckets().size();
}

tutti_status tutti_gradient_bucket(tutti_gradient_sync* sync, size_t bucket,
                                   const size_t** parameters, size_t* count) {
  clear(parameters);
  clear(count);
  return guarded(sync, "sync", [&] {
    require(parameters, "parameters");
    require(count, "count");
    sync->buckets = sync->sync.buckets();
    if (bucket >= sync->buckets.size())
      throw tutti::Error{tutti::ErrorCode::invalid_argument,
                         "there is no bucket " + std::to_string(bucket) + "; there are " +
                             std::to_string(sync->buckets.size())};
    *parameters = sync->buckets[bucket].data();
    *count = sync->buckets[bucket].size();
  });
}

tutti_status tutti_write_trace(tutti_gradient_sync* sync, const char* path) {
  return guarded(sync, "sync", [&] {
    require(path, "path");
    sync->sync.write_trace(path);
  });
}

}  // extern "C"
