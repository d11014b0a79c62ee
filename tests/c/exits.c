/* Rank 1 exits with all its handles, before rank 0 has the result of their last call: exits CASE.
 * Case "auto" or "tcp": main returns. It has left its worlds, and is not taken for dead. Case
 * "in_call": it exits within a call, in an operator, which is the error of rank 0. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kCount = 100 };

/* Exits, on the rank that has a context. */
static int add(void* context, const void* left, const void* right, void* out, size_t count) {
  size_t i;
  if (context != NULL) exit(0);
  for (i = 0; i < count; ++i)
    ((double*)out)[i] = ((const double*)left)[i] + ((const double*)right)[i];
  return 0;
}

static void test_exit_in_call(tutti_communicator* world) {
  double value = 1;
  tutti_operator* op = NULL;
  tutti_call call = sum_of(&value, 1, TUTTI_F64);
  require_ok(tutti_make_operator(add, tutti_rank(world) == 1 ? &value : NULL, 0, NULL, &op),
             "make_operator");
  call.op = TUTTI_USER;
  call.user_op = op;
  tutti_run(world, &call, NULL); /* rank 0 may have its result */
  require_true(tutti_rank(world) == 0, "rank 1 has exited");
  require_status(tutti_run(world, &call, NULL), TUTTI_PEER_DEAD,
                 "a call with a rank that has exited");
}

/* Everything that has a handle, used once. */
static void make_handles(tutti_communicator* world) {
  static float gradient[kCount];
  static float data[kCount];
  tutti_communicator* part = NULL;
  tutti_plan* plan = NULL;
  tutti_memory* memory = NULL;
  tutti_objects* objects = NULL;
  tutti_gradient_sync* sync = NULL;
  tutti_parameter parameter;
  tutti_object_call objects_call;
  const tutti_piece piece = {"four", 4};
  const tutti_object object = {&piece, 1};
  tutti_call call = sum_of(data, kCount, TUTTI_F32);
  require_ok(tutti_split(world, 0, 0, &part), "split");
  require_ok(tutti_make_plan(part, &call, NULL, &plan), "make_plan");
  require_ok(tutti_plan_start(plan, data, data), "plan_start");
  require_ok(tutti_plan_wait(plan), "plan_wait");
  require_ok(tutti_allocate(world, 1000, &memory), "allocate");
  tutti_object_call_defaults(&objects_call, sizeof objects_call);
  objects_call.kind = TUTTI_OBJECT_ALL_GATHER;
  objects_call.objects = &object;
  objects_call.count = 1;
  require_ok(tutti_objects_start(part, &objects_call, &objects), "objects_start");
  require_ok(tutti_objects_wait_for(objects, INT64_MAX), "objects_wait_for");
  tutti_parameter_defaults(&parameter, sizeof parameter);
  parameter.name = "all";
  parameter.data = gradient;
  parameter.count = kCount;
  require_ok(tutti_make_gradient_sync(world, &parameter, 1, NULL, &sync), "make_gradient_sync");
  tutti_gradient_ready(sync, 0);
  require_ok(tutti_gradient_wait(sync, NULL), "gradient_wait");
}

/* Returns once a process has ended and its parent knows that. */
static void await_end(pid_t process) {
  const struct timespec pause = {0, 10 * 1000 * 1000};
  int looks;
  for (looks = 0; kill(process, 0) == 0 || errno != ESRCH; ++looks) {
    require_true(looks < 30000, "the other rank ends");
    nanosleep(&pause, NULL);
  }
}

int run_exits(int argc, char** argv) {
  tutti_init_options options;
  tutti_communicator* world = NULL;
  int64_t processes[2] = {0, 0};
  int32_t values[kCount] = {0};
  tutti_call call;
  const char* const test = argc > 1 ? argv[1] : "auto";
  tutti_init_options_defaults(&options, sizeof options);
  if (strcmp(test, "tcp") == 0) options.transport = "tcp";
  require_ok(tutti_init(&options, &world), "init");
  if (strcmp(test, "in_call") == 0) {
    test_exit_in_call(world);
    return 0;
  }
  make_handles(world);
  processes[tutti_rank(world)] = getpid();
  call = sum_of(processes, 2, TUTTI_I64);
  require_ok(tutti_run(world, &call, NULL), "run");
  call = sum_of(values, kCount, TUTTI_I32);
  call.collective = TUTTI_BROADCAST;
  call.root = 1;
  if (tutti_rank(world) == 1) values[kCount - 1] = 7;
  else await_end((pid_t)processes[1]);
  require_ok(tutti_run(world, &call, NULL), "the last call");
  require_true(values[kCount - 1] == 7, "the last call has its result");
  return 0;
}
