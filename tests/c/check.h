/* Checks for tests in C: the first that fails says where, and ends the process. */
#ifndef TUTTI_TESTS_C_CHECK_H
#define TUTTI_TESTS_C_CHECK_H

#include <stdio.h>
#include <stdlib.h>
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

#endif
