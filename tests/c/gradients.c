/* Every function of tutti_c/gradients.h, from C99. */
#include <math.h>
#include <string.h>

#include "check.h"

enum { kLayers = 3, kCount = 1000 };

static float gradients[kLayers][kCount];
static tutti_parameter parameters[kLayers];

static void describe(void) {
  static const char* const kNames[kLayers] = {"embedding", "hidden", "head"};
  int i;
  for (i = 0; i < kLayers; ++i) {
    tutti_parameter_defaults(&parameters[i], sizeof parameters[i]);
    parameters[i].name = kNames[i];
    parameters[i].data = gradients[i];
    parameters[i].count = kCount;
  }
}

static void go_backward(tutti_gradient_sync* sync, float value) {
  int i;
  int e;
  for (i = kLayers - 1; i >= 0; --i) {
    for (e = 0; e < kCount; ++e) gradients[i][e] = value + (float)i;
    tutti_gradient_ready(sync, (size_t)i);
  }
}

static void test_steps(tutti_communicator* world) {
  const float mean = (float)(tutti_size(world) - 1) / 2;
  tutti_gradient_options options;
  tutti_step_report report;
  tutti_gradient_sync* sync = NULL;
  const size_t* bucket = NULL;
  size_t in_bucket = 0;
  int step;
  tutti_gradient_options_defaults(&options, sizeof options);
  options.norm = 1;
  options.order = TUTTI_ORDER_REVERSED;
  require_ok(tutti_make_gradient_sync(world, parameters, kLayers, &options, &sync), "make");
  require_true(tutti_gradient_plan_hash(sync) != 0, "a plan has a hash");
  require_true(tutti_gradient_bucket_count(sync) >= 1, "a plan has buckets");
  require_ok(tutti_gradient_bucket(sync, 0, &bucket, &in_bucket), "a bucket");
  require_true(in_bucket >= 1 && bucket[0] == kLayers - 1, "the last layer is in the first bucket");
  require_status(tutti_gradient_bucket(sync, 99, &bucket, &in_bucket), TUTTI_INVALID_ARGUMENT,
                 "no such bucket");
  require_true(tutti_gradient_view(sync, 0) == NULL, "gradients stay where they are");
  report.size = sizeof report;
  for (step = 1; step <= 3; ++step) {
    go_backward(sync, (float)tutti_rank(world));
    require_ok(tutti_gradient_wait(sync, &report), "wait");
    require_true(report.step == (uint64_t)step && report.active == tutti_size(world), "the report");
    require_true(gradients[2][kCount - 1] == mean + 2, "the mean");
    require_true(report.norm > 0, "the norm");
  }
  go_backward(sync, 0);
  tutti_gradient_ready(sync, 1);
  require_status(tutti_gradient_wait(sync, &report), TUTTI_INVALID_ARGUMENT, "ready twice");
  go_backward(sync, 1);
  require_status(tutti_gradient_synchronize(sync, 1000000000), TUTTI_INVALID_ARGUMENT,
                 "synchronize within a step");
  require_ok(tutti_gradient_wait(sync, NULL), "the step after a void one");
  require_ok(tutti_gradient_synchronize(sync, 1000000000), "there is no stream to wait for");
  tutti_gradient_sync_free(sync);
}

/* A gradient that was accumulated is ready when the program waits. */
static void test_accumulated(tutti_communicator* world) {
  tutti_gradient_sync* sync = NULL;
  require_ok(tutti_make_gradient_sync(world, parameters, kLayers, NULL, &sync), "make");
  gradients[0][0] = (float)tutti_rank(world);
  tutti_gradient_ready(sync, 1);
  tutti_gradient_ready(sync, 2);
  tutti_gradient_accumulated(sync, 0);
  require_ok(tutti_gradient_wait(sync, NULL), "wait");
  require_true(gradients[0][0] == (float)(tutti_size(world) - 1) / 2, "what was accumulated");
  tutti_gradient_sync_free(sync);
}

static void test_state(tutti_communicator* world) {
  tutti_gradient_sync* sync = NULL;
  uint64_t steps = 77;
  gradients[0][5] = (float)tutti_rank(world);
  require_ok(tutti_make_gradient_sync(world, parameters, kLayers, NULL, &sync), "make");
  if (tutti_size(world) > 1)
    require_status(tutti_verify_state(sync, parameters, kLayers), TUTTI_INVALID_ARGUMENT,
                   "arrays differ");
  require_ok(tutti_broadcast_state(sync, parameters, kLayers, tutti_size(world) - 1), "broadcast");
  require_true(gradients[0][5] == (float)(tutti_size(world) - 1), "the root's values");
  require_ok(tutti_verify_state(sync, parameters, kLayers), "arrays are equal");
  gradients[1][0] = (float)tutti_rank(world);
  require_ok(tutti_average_buffers(sync, parameters, kLayers), "average");
  require_true(fabsf(gradients[1][0] - (float)(tutti_size(world) - 1) / 2) < 1e-6F, "the mean");
  require_ok(tutti_gradient_join(sync, &steps), "join");
  require_true(steps == 0, "all joined at once");
  tutti_gradient_sync_free(sync);
  tutti_gradient_sync_free(NULL);
}

static void test_views_and_trace(tutti_communicator* world, const char* path) {
  tutti_gradient_options options;
  tutti_parameter views[kLayers];
  tutti_gradient_sync* sync = NULL;
  int i;
  memcpy(views, parameters, sizeof views);
  for (i = 0; i < kLayers; ++i) views[i].data = NULL;
  tutti_gradient_options_defaults(&options, sizeof options);
  options.storage = TUTTI_STORAGE_VIEWS;
  options.record = 2;
  require_ok(tutti_make_gradient_sync(world, views, kLayers, &options, &sync), "make");
  for (i = 0; i < kLayers; ++i) {
    ((float*)tutti_gradient_view(sync, (size_t)i))[0] = 2;
    tutti_gradient_ready(sync, (size_t)i);
  }
  require_ok(tutti_gradient_wait(sync, NULL), "wait");
  require_true(((float*)tutti_gradient_view(sync, 1))[0] == 2, "the mean of equal ones");
  require_ok(tutti_write_trace(sync, path), "write_trace");
  require_status(tutti_write_trace(sync, NULL), TUTTI_INVALID_ARGUMENT, "no path");
  tutti_gradient_sync_free(sync);
}

int run_gradients(int argc, char** argv) {
  tutti_communicator* world = NULL;
  require_true(argc == 2, "usage: gradients TRACE");
  require_ok(tutti_init(NULL, &world), "init");
  describe();
  test_steps(world);
  test_accumulated(world);
  test_state(world);
  test_views_and_trace(world, argv[1]);
  tutti_communicator_free(world);
  return 0;
}
