/* Requests in an event loop: tutti_request_notify, from C99. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "check.h"

enum { kPatience = 300000 /* milliseconds for what must happen */ };

static int readable_within(int eventfd, int milliseconds) {
  struct pollfd wanted;
  wanted.fd = eventfd;
  wanted.events = POLLIN;
  wanted.revents = 0;
  return poll(&wanted, 1, milliseconds) == 1;
}

static uint64_t notices_of(int eventfd) {
  uint64_t count = 0;
  if (read(eventfd, &count, sizeof count) != (ssize_t)sizeof count) return 0;
  return count;
}

static int new_eventfd(void) {
  const int result = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  require_true(result >= 0, "an eventfd");
  return result;
}

static tutti_request* start_sum(tutti_communicator* world, int32_t* value) {
  const tutti_call call = sum_of(value, 1, TUTTI_I32);
  tutti_request* request = NULL;
  require_ok(tutti_start(world, &call, NULL, &request), "start");
  return request;
}

/* Rank 0 comes late. The others only wait for the eventfd, and call nothing. */
static void test_late(tutti_communicator* world) {
  const int events = new_eventfd();
  int32_t value = 1;
  tutti_request* request = NULL;
  if (tutti_rank(world) == 0) {
    if (tutti_size(world) > 1)
      require_ok(tutti_recv(world, NULL, 0, TUTTI_U8, 1, 9), "rank 1 has found nothing");
    request = start_sum(world, &value);
    require_ok(tutti_request_notify(request, events), "notify");
  } else {
    request = start_sum(world, &value);
    require_ok(tutti_request_notify(request, events), "notify");
    if (tutti_rank(world) == 1) {
      require_true(!readable_within(events, 20), "no notice before the end");
      require_ok(tutti_send(world, NULL, 0, TUTTI_U8, 0, 9), "a message to rank 0");
    }
  }
  require_true(readable_within(events, kPatience), "a notice of the end");
  require_true(notices_of(events) == 1, "one notice");
  require_ok(tutti_test(request), "the call has ended");
  require_true(value == tutti_size(world), "the sum");
  require_ok(tutti_request_notify(request, events), "notify of a call that has ended");
  require_true(readable_within(events, 0), "at once");
  tutti_request_free(request);
  close(events);
}

/* Several calls share one eventfd, which counts them. A call that is waited for notifies too. */
static void test_many(tutti_communicator* world) {
  enum { kCalls = 100 };
  const int events = new_eventfd();
  int32_t values[kCalls];
  tutti_request* requests[kCalls];
  uint64_t notices = 0;
  int i;
  for (i = 0; i < kCalls; ++i) {
    values[i] = i;
    requests[i] = start_sum(world, &values[i]);
    require_ok(tutti_request_notify(requests[i], events), "notify");
  }
  require_ok(tutti_wait(requests[kCalls / 2]), "wait");
  while (notices < kCalls && readable_within(events, kPatience)) notices += notices_of(events);
  require_true(notices == kCalls, "a notice of each");
  for (i = 0; i < kCalls; ++i) {
    require_ok(tutti_test(requests[i]), "each has ended");
    require_true(values[i] == i * tutti_size(world), "the sums");
    tutti_request_free(requests[i]);
  }
  close(events);
}

static void test_withdrawn(tutti_communicator* world) {
  const int first = new_eventfd();
  const int second = new_eventfd();
  int32_t value = 1;
  int32_t other = 1;
  tutti_request* request = NULL;
  if (tutti_rank(world) == 1)
    require_ok(tutti_recv(world, NULL, 0, TUTTI_U8, 0, 9), "rank 0 has changed the eventfd");
  request = start_sum(world, &value);
  require_status(tutti_request_notify(request, 99999), TUTTI_INVALID_ARGUMENT, "no descriptor");
  require_status(tutti_request_notify(NULL, first), TUTTI_INVALID_ARGUMENT, "no request");
  if (tutti_rank(world) == 0 && tutti_size(world) > 1) { /* rank 1 has not called */
    require_ok(tutti_request_notify(request, first), "notify");
    require_ok(tutti_request_notify(request, second), "notify another one");
    require_ok(tutti_send(world, NULL, 0, TUTTI_U8, 1, 9), "a message to rank 1");
  }
  require_ok(tutti_wait(request), "wait");
  tutti_request_free(request);
  require_true(!readable_within(first, 0), "the first one was replaced");
  if (tutti_rank(world) == 0 && tutti_size(world) > 1)
    require_true(notices_of(second) == 1, "the second one");
  request = start_sum(world, &other);
  require_ok(tutti_request_notify(request, -1), "notify none");
  require_ok(tutti_wait(request), "wait");
  tutti_request_free(request);
  close(first);
  close(second);
}

/* As test_late, of objects. */
static void test_objects(tutti_communicator* world) {
  const int events = new_eventfd();
  const tutti_piece piece = {"four", 4};
  const tutti_object object = {&piece, 1};
  const void* data = NULL;
  size_t bytes = 0;
  tutti_object_call call;
  tutti_objects* objects = NULL;
  const int is_late = tutti_rank(world) == 0 && tutti_size(world) > 1;
  tutti_object_call_defaults(&call, sizeof call);
  call.kind = TUTTI_OBJECT_ALL_GATHER;
  call.objects = &object;
  call.count = 1;
  if (is_late) require_ok(tutti_recv(world, NULL, 0, TUTTI_U8, 1, 9), "rank 1 has found nothing");
  require_ok(tutti_objects_start(world, &call, &objects), "start");
  require_status(tutti_objects_notify(objects, 99999), TUTTI_INVALID_ARGUMENT, "no descriptor");
  require_status(tutti_objects_notify(NULL, events), TUTTI_INVALID_ARGUMENT, "no objects");
  require_ok(tutti_objects_notify(objects, events), "notify");
  require_ok(tutti_objects_notify(objects, -1), "withdrawn");
  require_ok(tutti_objects_notify(objects, events), "notify again");
  if (tutti_rank(world) == 1) {
    require_true(!readable_within(events, 20), "no notice before the end");
    require_ok(tutti_send(world, NULL, 0, TUTTI_U8, 0, 9), "a message to rank 0");
  }
  require_true(readable_within(events, kPatience), "a notice of the end");
  while (notices_of(events) > 0) {
  }
  require_ok(tutti_objects_wait_for(objects, 0), "the call has ended");
  require_true(tutti_objects_count(objects) == (size_t)tutti_size(world), "an object of each rank");
  require_ok(tutti_objects_get(objects, 0, &data, &bytes), "get");
  require_true(bytes == 4, "the bytes of rank 0");
  require_ok(tutti_objects_notify(objects, events), "notify of a call that has ended");
  require_true(notices_of(events) == 1, "at once");
  tutti_objects_free(objects);
  close(events);
}

/* Objects that are dropped notify: their communicator fails. */
static void test_dropped_objects(tutti_communicator* world) {
  const int events = new_eventfd();
  tutti_object_call call;
  tutti_objects* objects = NULL;
  tutti_communicator* alone = NULL;
  const int32_t rank = tutti_rank(world);
  require_ok(tutti_group(world, &rank, 1, (uint64_t)rank, &alone), "a group of this rank");
  tutti_object_call_defaults(&call, sizeof call);
  call.kind = TUTTI_OBJECT_RECV;
  require_ok(tutti_objects_start(alone, &call, &objects), "a message that never comes");
  require_ok(tutti_objects_notify(objects, events), "notify");
  tutti_objects_free(objects);
  require_true(notices_of(events) == 1, "objects that are freed notify");
  tutti_communicator_free(alone);
  close(events);
}

/* Rank 0 gives up: the others are notified of the failure. */
static void test_failure(tutti_communicator* world) {
  const int events = new_eventfd();
  int32_t value = 1;
  int32_t rank = 0;
  tutti_request* request = NULL;
  if (tutti_size(world) == 1) return;
  if (tutti_rank(world) == 0) {
    tutti_call call;
    for (rank = 1; rank < tutti_size(world); ++rank)
      require_ok(tutti_recv(world, NULL, 0, TUTTI_U8, rank, 9), "each rank waits");
    tutti_call_defaults(&call, sizeof call);
    call.collective = TUTTI_RECV;
    call.from = 1;
    call.tag = 7;
    require_ok(tutti_start(world, &call, NULL, &request), "a message that never comes");
    require_ok(tutti_request_notify(request, events), "notify");
    tutti_request_free(request);
    require_true(notices_of(events) == 1, "a request that is freed notifies");
    return;
  }
  request = start_sum(world, &value);
  require_ok(tutti_request_notify(request, events), "notify");
  require_ok(tutti_send(world, NULL, 0, TUTTI_U8, 0, 9), "a message to rank 0");
  require_true(readable_within(events, kPatience), "a notice of the failure");
  require_status(tutti_test(request), TUTTI_ABORTED, "rank 0 gave up");
  require_status(tutti_request_notify(request, events), TUTTI_ABORTED, "as test");
  tutti_request_free(request);
}

int run_events(int argc, char** argv) {
  tutti_communicator* world = NULL;
  (void)argc;
  (void)argv;
  require_ok(tutti_init(NULL, &world), "init");
  test_late(world);
  test_many(world);
  test_withdrawn(world);
  test_objects(world);
  test_dropped_objects(world);
  test_failure(world); /* the last one: the communicator fails */
  tutti_communicator_free(world);
  return 0;
}
