/* Operators of a program, from C99, on every rank of a world. */
#include <stdint.h>

#include "check.h"

static int multiply(void* context, const void* left, const void* right, void* out, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i)
    ((int32_t*)out)[i] = ((const int32_t*)left)[i] * ((const int32_t*)right)[i];
  ++*(int*)context;
  return 0;
}

/* @param context a text, or NULL */
static int fail(void* context, const void* left, const void* right, void* out, size_t count) {
  (void)left, (void)right, (void)out, (void)count;
  if (context != NULL) tutti_operator_error(context);
  return 7;
}

/* As multiply, and says that it has succeeded. */
static int multiply_all(void* context, const void* left, const void* right, void* out,
                        size_t count) {
  multiply(context, left, right, out, count);
  tutti_operator_error(NULL);
  return 0;
}

/* As a callback that an exception ends before its first statement. */
static int lose(void* context, const void* left, const void* right, void* out, size_t count) {
  (void)context, (void)left, (void)right, (void)out, (void)count;
  return 0;
}

static void count_release(void* context) {
  *(int*)context = -1;
}

/* Combines 2 of each rank. */
static tutti_status run_operator(tutti_communicator* world, const tutti_operator* op,
                                 int32_t* value) {
  tutti_call call = sum_of(value, 1, TUTTI_I32);
  *value = 2;
  call.op = TUTTI_USER;
  call.user_op = op;
  return tutti_run(world, &call, NULL);
}

static void test_operators(tutti_communicator* world) {
  int round;
  for (round = 0; round < 3; ++round) {
    int context = 0;
    int32_t value;
    tutti_operator* op = NULL;
    require_ok(tutti_make_operator(multiply, &context, 1, count_release, &op), "make_operator");
    require_ok(run_operator(world, op, &value), "a user's operator");
    require_true(value == 1 << tutti_size(world), "the product");
    require_true(context >= 0, "an operator lives until it is freed");
    tutti_operator_free(op);
    require_true(context == -1, "an operator that no call uses ends when it is freed");
  }
}

static void test_operator_of_request(tutti_communicator* world) {
  int context = 0;
  int32_t value = 2;
  tutti_operator* op = NULL;
  tutti_request* request = NULL;
  tutti_call call = sum_of(&value, 1, TUTTI_I32);
  require_ok(tutti_make_operator(multiply, &context, 1, count_release, &op), "make_operator");
  call.op = TUTTI_USER;
  call.user_op = op;
  require_ok(tutti_start(world, &call, NULL, &request), "start");
  tutti_operator_free(op);
  require_true(context >= 0, "a call under way holds its operator");
  require_ok(tutti_wait(request), "wait");
  require_true(value == 1 << tutti_size(world), "the product");
  require_true(context == -1, "the operator ends with the last call that uses it");
  tutti_request_free(request);
}

static void test_checked_operators(tutti_communicator* world) {
  static int context = 0;
  int32_t value;
  tutti_operator* op = NULL;
  require_ok(tutti_make_checked_operator(multiply_all, &context, 1, NULL, &op), "checked_operator");
  require_ok(run_operator(world, op, &value), "a checked operator");
  require_true(value == 1 << tutti_size(world), "the product");
  tutti_operator_free(op);
}

static tutti_operator* failing(char* text) {
  tutti_operator* op = NULL;
  require_ok(tutti_make_operator(fail, text, 1, NULL, &op), "make_operator");
  return op;
}

static tutti_operator* lost(void) {
  tutti_operator* op = NULL;
  require_ok(tutti_make_checked_operator(lose, NULL, 1, NULL, &op), "make_checked_operator");
  return op;
}

/* In a communicator of its own, which it ends. @param op freed. */
static void test_failing_operator(tutti_communicator* world, tutti_operator* op,
                                  const char* expected) {
  int32_t value;
  tutti_error error;
  tutti_communicator* other = communicator_to_fail(world);
  if (tutti_size(world) > 1) {
    require_status(run_operator(other, op, &value), TUTTI_ABORTED, "an operator that fails");
    require_text(expected);
    error.size = sizeof error;
    tutti_last_error(&error);
    require_true(error.rank >= 0 && error.rank < tutti_size(world), "the rank at fault is known");
  }
  tutti_operator_free(op);
  tutti_communicator_free(other);
}

int run_operators(int argc, char** argv) {
  tutti_communicator* world = NULL;
  (void)argc;
  (void)argv;
  require_ok(tutti_init(NULL, &world), "init");
  test_operators(world);
  test_operator_of_request(world);
  test_checked_operators(world);
  test_failing_operator(world, failing(NULL), "a user's operator failed with status 7");
  test_failing_operator(world, failing("no such sum"), "a user's operator failed: no such sum");
  test_failing_operator(world, lost(), "a user's operator failed: an exception ended it");
  tutti_communicator_free(world);
  return 0;
}
