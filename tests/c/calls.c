/* Calls of tutti.h, from C99, on every rank of a world. */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kCount = 5, kMost = 16 };

static void test_versions(void) {
  require_true(strcmp(tutti_version(), "") != 0, "a version");
  require_true(tutti_interface_version() == 1, "the interface's version");
  require_true(strcmp(tutti_status_name(TUTTI_PEER_DEAD), "peer_dead") == 0, "a status has a name");
  require_true(strcmp(tutti_status_name((tutti_status)77), "unknown") == 0, "another one has none");
}

static void test_collectives(tutti_communicator* world) {
  const int32_t rank = tutti_rank(world);
  const int32_t size = tutti_size(world);
  int32_t own[kMost * kMost];
  int32_t all[kMost * kMost];
  int32_t i;
  for (i = 0; i < kMost * kMost; ++i) own[i] = 100 * rank + i;
  require_ok(tutti_all_reduce(world, own, all, kCount, TUTTI_I32, TUTTI_SUM), "all_reduce");
  for (i = 0; i < kCount; ++i)
    require_true(all[i] == 50 * size * (size - 1) + size * i, "all_reduce sums");
  require_ok(tutti_reduce(world, own, all, kCount, TUTTI_I32, TUTTI_MAX, size - 1), "reduce");
  if (rank == size - 1) require_true(all[1] == 100 * (size - 1) + 1, "reduce takes the maximum");
  all[0] = rank;
  require_ok(tutti_broadcast(world, all, 1, TUTTI_I32, size - 1), "broadcast");
  require_true(all[0] == size - 1, "broadcast sends the root's");
  require_ok(tutti_scatter(world, own, all, 2, TUTTI_I32, 0), "scatter");
  require_true(all[0] == 2 * rank && all[1] == 2 * rank + 1, "scatter sends a block");
  require_ok(tutti_gather(world, own, all, 2, TUTTI_I32, 0), "gather");
  if (rank == 0) require_true(all[2 * (size - 1)] == 100 * (size - 1), "gather gets all blocks");
  require_ok(tutti_all_gather(world, own, all, 2, TUTTI_I32), "all_gather");
  require_true(all[2 * size - 1] == 100 * (size - 1) + 1, "all_gather gets all blocks");
  require_ok(tutti_reduce_scatter(world, own, all, 2, TUTTI_I32, TUTTI_SUM), "reduce_scatter");
  require_true(all[0] == 50 * size * (size - 1) + size * 2 * rank, "reduce_scatter sums a block");
  require_ok(tutti_all_to_all(world, own, all, 2, TUTTI_I32), "all_to_all");
  require_true(all[2 * (size - 1)] == 100 * (size - 1) + 2 * rank, "all_to_all sends blocks");
  require_ok(tutti_scan(world, own, all, 1, TUTTI_I32, TUTTI_SUM), "scan");
  require_true(all[0] == 50 * rank * (rank + 1), "scan sums up to the own rank");
  all[0] = -7;
  require_ok(tutti_exscan(world, own, all, 1, TUTTI_I32, TUTTI_SUM), "exscan");
  require_true(all[0] == (rank == 0 ? -7 : 50 * rank * (rank - 1)), "exscan sums those before");
  require_ok(tutti_barrier(world), "barrier");
}

/* Elements of all ranks that no memory has: their number wraps to one that it could have. */
static void test_large_counts(tutti_communicator* world) {
  const size_t ranks = (size_t)tutti_size(world);
  const size_t counts[] = {SIZE_MAX / ranks + (ranks > 1 ? 1 : 0), SIZE_MAX / 2 + 2, SIZE_MAX,
                           SIZE_MAX / 4 / ranks + 1};
  int32_t x[kMost];
  size_t i;
  for (i = 0; i < sizeof counts / sizeof *counts; ++i) {
    const size_t n = counts[i];
    const tutti_status statuses[] = {
        tutti_scatter(world, x, x, n, TUTTI_I32, 0),
        tutti_gather(world, x, x, n, TUTTI_I32, 0),
        tutti_all_gather(world, x, x, n, TUTTI_I32),
        tutti_reduce_scatter(world, x, x, n, TUTTI_I32, TUTTI_SUM),
        tutti_all_to_all(world, x, x, n, TUTTI_I32),
    };
    size_t j;
    for (j = 0; j < sizeof statuses / sizeof *statuses; ++j)
      require_status(statuses[j], TUTTI_INVALID_ARGUMENT,
                     "more elements than an address space has");
    require_text("all_to_all");
    require_text("exceed the address space");
  }
}

static void test_bool(tutti_communicator* world) {
  uint8_t values[2];
  values[0] = 1;
  values[1] = tutti_rank(world) == 0;
  require_ok(tutti_all_reduce(world, values, values, 2, TUTTI_BOOL, TUTTI_SUM), "sum of bool");
  require_true(values[0] == 1 && values[1] == 1, "the sum of bool is or");
}

static void test_messages(tutti_communicator* world) {
  const int32_t rank = tutti_rank(world);
  const int32_t right = (rank + 1) % tutti_size(world);
  const int32_t left = (rank + tutti_size(world) - 1) % tutti_size(world);
  double sent = rank;
  double received = -1;
  tutti_call call;
  tutti_arrival arrival;
  tutti_request* request = NULL;
  if (tutti_size(world) == 1) return;
  tutti_call_defaults(&call, sizeof call);
  call.collective = TUTTI_SENDRECV;
  call.type = TUTTI_F64;
  call.in = &sent;
  call.in_count = 1;
  call.out = &received;
  call.out_count = 1;
  call.to = right;
  call.from = left;
  require_ok(tutti_run(world, &call, NULL), "sendrecv");
  require_true(received == left, "sendrecv");
  call.collective = TUTTI_SEND;
  require_ok(tutti_start(world, &call, NULL, &request), "a send that is started");
  arrival.size = sizeof arrival;
  require_ok(tutti_probe(world, TUTTI_ANY_RANK, 0, TUTTI_FOREVER, &arrival), "probe");
  require_true(arrival.from == left && arrival.bytes == sizeof(double), "probe finds the message");
  require_ok(tutti_recv(world, &received, 1, TUTTI_F64, left, 0), "recv");
  require_ok(tutti_wait(request), "wait");
  tutti_request_free(request);
  require_status(tutti_probe(world, left, 5, 0, &arrival), TUTTI_PENDING, "no message of tag 5");
  if (rank == 0) require_ok(tutti_send(world, &sent, 1, TUTTI_F64, 1, 3), "send");
  if (rank == 1) require_ok(tutti_recv(world, &received, 1, TUTTI_F64, 0, 3), "recv of send");
  if (rank == 1) require_true(received == 0, "recv gets what was sent");
}

/* All ranks reject the same calls, and then make others. */
static void test_rejections(tutti_communicator* world) {
  const int32_t rank = tutti_rank(world);
  int32_t sum = 1;
  tutti_call call;
  tutti_call_defaults(&call, sizeof call);
  require_ok(tutti_reject_call(world, &call, "not this one"), "a collective that is rejected");
  call.collective = rank == 0 ? TUTTI_SEND : TUTTI_RECV;
  call.to = 1;
  if (rank < 2) require_ok(tutti_reject_call(world, &call, "nor this"), "a message that is rejected");
  require_ok(tutti_all_reduce(world, &sum, &sum, 1, TUTTI_I32, TUTTI_SUM), "the call after it");
  require_true(sum == tutti_size(world), "the sum of the call after it");
  require_status(tutti_reject_call(world, &call, NULL), TUTTI_INVALID_ARGUMENT, "no reason");
}

static void test_requests(tutti_communicator* world) {
  float in[2][kCount];
  float out[2][kCount];
  tutti_call calls[2];
  tutti_options options;
  tutti_request* requests[3] = {NULL, NULL, NULL};
  tutti_request* pending = NULL;
  tutti_status status;
  int i;
  tutti_options_defaults(&options, sizeof options);
  options.algorithm = "ring";
  for (i = 0; i < 2; ++i) {
    int e;
    for (e = 0; e < kCount; ++e) in[i][e] = (float)i;
    calls[i] = sum_of(out[i], kCount, TUTTI_F32);
    calls[i].in = in[i];
    require_ok(tutti_start(world, &calls[i], &options, &requests[i + 1]), "start");
  }
  require_status(tutti_wait_all((tutti_request* const*)requests, 3), TUTTI_INVALID_ARGUMENT,
                 "wait_all waits for those that are not NULL");
  require_text("requests[0] is NULL");
  require_true(out[1][0] == (float)tutti_size(world), "both have run");
  require_ok(tutti_wait_all(&requests[1], 2), "wait_all");
  require_ok(tutti_test(requests[1]), "a request that has ended is done");
  for (i = 0; i < 3; ++i) tutti_request_free(requests[i]);
  out[1][0] = 0;
  status = tutti_run_for(world, &calls[1], &options, 1, &pending);
  while (status == TUTTI_PENDING) status = tutti_wait_for(pending, 1000000);
  require_ok(status, "run_for");
  require_true(out[1][0] == (float)tutti_size(world), "run_for has run");
  tutti_request_free(pending);
}

/* Rank 0 comes late: the others find the call pending, which fails nothing. */
static void test_pending(tutti_communicator* world) {
  int32_t value = 1;
  tutti_call call = sum_of(&value, 1, TUTTI_I32);
  tutti_request* request = NULL;
  char text[400];
  size_t length = sizeof text;
  if (tutti_size(world) == 1) return;
  if (tutti_rank(world) == 0) {
    require_ok(tutti_recv(world, NULL, 0, TUTTI_U8, 1, 9), "a message once rank 1 has waited");
    require_ok(tutti_run(world, &call, NULL), "the late call");
  } else {
    require_ok(tutti_start(world, &call, NULL, &request), "start");
    if (tutti_rank(world) == 1)
      require_status(tutti_wait_for(request, 5000000), TUTTI_PENDING, "rank 0 has not called");
    if (tutti_rank(world) == 1)
      require_ok(tutti_send(world, NULL, 0, TUTTI_U8, 0, 9), "a message to rank 0");
    require_ok(tutti_wait(request), "wait");
    tutti_request_free(request);
  }
  require_true(value == tutti_size(world), "the sum");
  require_ok(tutti_communicator_waits(world, text, sizeof text, &length), "waits");
  require_true(length == 0 && strcmp(text, "") == 0, "this rank does not wait");
}

/* As test_pending, with a plan. */
static void test_pending_plan(tutti_communicator* world) {
  int32_t value = 1;
  const tutti_call call = sum_of(&value, 1, TUTTI_I32);
  tutti_plan* plan = NULL;
  if (tutti_size(world) == 1) return;
  require_ok(tutti_make_plan(world, &call, NULL, &plan), "make_plan");
  if (tutti_rank(world) == 0)
    require_ok(tutti_recv(world, NULL, 0, TUTTI_U8, 1, 9), "a message once rank 1 has waited");
  require_ok(tutti_plan_start(plan, NULL, NULL), "start");
  if (tutti_rank(world) == 1) {
    require_status(tutti_plan_test(plan), TUTTI_PENDING, "rank 0 has not called");
    require_ok(tutti_send(world, NULL, 0, TUTTI_U8, 0, 9), "a message to rank 0");
  }
  require_ok(tutti_plan_wait(plan), "wait");
  require_true(value == tutti_size(world), "the sum");
  tutti_plan_free(plan);
}

static void test_plans(tutti_communicator* world) {
  int64_t value = 0;
  int64_t other = 5;
  const tutti_call call = sum_of(&value, 1, TUTTI_I64);
  tutti_plan* plan = NULL;
  tutti_status status;
  require_ok(tutti_make_plan(world, &call, NULL, &plan), "make_plan");
  require_true(strcmp(tutti_plan_algorithm(plan), "") != 0, "a plan has an algorithm");
  for (value = 1; value < 100;) {
    require_ok(tutti_plan_start(plan, NULL, NULL), "start");
    require_ok(tutti_plan_wait(plan), "wait");
    if (tutti_size(world) == 1) break;
  }
  require_ok(tutti_plan_start(plan, &other, &other), "start on other buffers");
  status = tutti_plan_wait_for(plan, 1000);
  while (status == TUTTI_PENDING) status = tutti_plan_test(plan);
  require_ok(status, "test");
  require_true(other == 5 * tutti_size(world), "the other buffer");
  tutti_plan_free(plan);
}

static void test_batches(tutti_communicator* world) {
  int32_t sum = 1;
  int32_t most = tutti_rank(world);
  require_ok(tutti_batch_begin(), "batch_begin");
  require_ok(tutti_all_reduce(world, &sum, &sum, 1, TUTTI_I32, TUTTI_SUM), "in a batch");
  require_ok(tutti_all_reduce(world, &most, &most, 1, TUTTI_I32, TUTTI_MAX), "in a batch");
  require_ok(tutti_batch_end(), "batch_end");
  require_true(sum == tutti_size(world) && most == tutti_size(world) - 1, "both have run");
  require_ok(tutti_batch_begin(), "batch_begin");
  require_ok(tutti_barrier(world), "in a batch");
  tutti_batch_cancel();
  require_status(tutti_batch_end(), TUTTI_INVALID_ARGUMENT, "there is no batch");
}

static tutti_communicator* late_world = NULL;

static void provoke_error(tutti_communicator* world, size_t letters) {
  char name[2000] = {0};
  int32_t value = 1;
  tutti_call call = sum_of(&value, 1, TUTTI_I32);
  tutti_options options;
  tutti_options_defaults(&options, sizeof options);
  memset(name, 'x', letters);
  options.algorithm = name;
  require_status(tutti_run(world, &call, &options), TUTTI_INVALID_ARGUMENT, "no such algorithm");
  require_text("xxxxxxxx");
}

/* After main, when objects of its thread have ended. */
static void call_at_exit(void) {
  int32_t values[2] = {1, 1};
  if (late_world == NULL) return;
  provoke_error(late_world, 1500);
  require_ok(tutti_batch_begin(), "batch_begin");
  require_ok(tutti_all_reduce(late_world, values, values, 1, TUTTI_I32, TUTTI_SUM), "in a batch");
  require_ok(tutti_all_reduce(late_world, values + 1, values + 1, 1, TUTTI_I32, TUTTI_MAX), "too");
  require_ok(tutti_batch_end(), "batch_end");
  require_true(values[0] == tutti_size(late_world) && values[1] == 1, "results after main");
  tutti_communicator_free(late_world);
}

int run_calls(int argc, char** argv) {
  tutti_communicator* world = NULL;
  (void)argc;
  (void)argv;
  test_versions();
  require_ok(tutti_init(NULL, &world), "init");
  require_true(atexit(call_at_exit) == 0, "a function that runs before the world is left");
  require_true(tutti_size(world) <= kMost, "the test is for up to 16 ranks");
  test_collectives(world);
  test_large_counts(world);
  test_bool(world);
  test_messages(world);
  test_rejections(world);
  test_requests(world);
  test_pending(world);
  test_pending_plan(world);
  test_plans(world);
  test_batches(world);
  provoke_error(world, 700);
  late_world = world;
  return 0;
}
