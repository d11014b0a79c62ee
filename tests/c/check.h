/* Checks for tests in C: the first that fails says where, and ends the process. */
#ifndef TUTTI_TESTS_C_CHECK_H
#define TUTTI_TESTS_C_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tutti.h>

static void require_true(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

static void require_status(tutti_status status, tutti_status expected, const char* what) {
  tutti_error error;
  if (status == expected) return;
  error.size = sizeof error;
  tutti_last_error(&error);
  fprintf(stderr, "%s: %s instead of %s: %s\n", what, tutti_status_name(status),
          tutti_status_name(expected), error.text);
  exit(1);
}

static void require_ok(tutti_status status, const char* what) {
  require_status(status, TUTTI_OK, what);
}

/* The text of the last error. */
static inline void require_text(const char* part) {
  tutti_error error;
  error.size = sizeof error;
  tutti_last_error(&error);
  if (strstr(error.text, part) != NULL) return;
  fprintf(stderr, "the error does not say '%s': %s\n", part, error.text);
  exit(1);
}

/* A communicator of all ranks that a test may fail: all ranks have it, and no failure of it overtakes
 * what a slow rank still does on the world. */
static inline tutti_communicator* communicator_to_fail(tutti_communicator* world) {
  tutti_communicator* result = NULL;
  require_ok(tutti_split(world, 0, 0, &result), "split");
  require_ok(tutti_barrier(world), "barrier");
  return result;
}

/* A sum over all ranks, in place. */
static inline tutti_call sum_of(void* data, size_t count, tutti_datatype type) {
  tutti_call call;
  tutti_call_defaults(&call, sizeof call);
  call.type = type;
  call.in = call.out = data;
  call.in_count = call.out_count = count;
  return call;
}

#endif
