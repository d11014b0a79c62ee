/* Worlds, groups, objects, structs of other versions and errors of tutti.h, from C99. */
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { kMost = 16 };

static void test_texts(tutti_communicator* world) {
  char text[300];
  char few[6];
  size_t length = 0;
  size_t whole = 0;
  int32_t hosts[kMost];
  const tutti_call call = sum_of(text, 10, TUTTI_F32);
  require_ok(tutti_describe(world, text, sizeof text, &length), "describe");
  require_true(length == strlen(text) && strstr(text, "rank") != NULL, "a line about ranks");
  require_ok(tutti_describe(world, few, sizeof few, &whole), "describe");
  require_true(whole == length && strlen(few) == 5, "a text is cut, and its length is told");
  require_ok(tutti_describe(world, NULL, 0, &whole), "describe");
  require_true(whole == length, "the length alone");
  require_ok(tutti_address(world, text, sizeof text, &length), "address");
  require_true(strcmp(text, "127.0.0.1") == 0,
               "ranks of one host reach each other at the loopback");
  require_ok(tutti_hosts(world, hosts), "hosts");
  require_true(hosts[0] == hosts[tutti_size(world) - 1], "all are on one host");
  length = 0;
  require_ok(tutti_explain(world, &call, NULL, NULL, 0, &length), "explain");
  require_true(length > 0, "a choice has reasons");
}

static void test_groups(tutti_communicator* world) {
  const int32_t rank = tutti_rank(world);
  const int32_t size = tutti_size(world);
  int32_t members[kMost];
  int32_t i;
  int32_t sum = 1;
  tutti_communicator* group = NULL;
  tutti_communicator* part = NULL;
  for (i = 0; i < size; ++i) members[i] = size - 1 - i;
  require_ok(tutti_group(world, members, (size_t)size, 3, &group), "group");
  require_true(tutti_rank(group) == size - 1 - rank, "members are in the given order");
  tutti_communicator_free(group);
  require_ok(tutti_split(world, rank == 0 ? -1 : 0, 0, &part), "split");
  require_true((part == NULL) == (rank == 0), "rank 0 is in no part");
  if (part != NULL) {
    require_ok(tutti_all_reduce(part, &sum, &sum, 1, TUTTI_I32, TUTTI_SUM), "in a part");
    require_true(sum == size - 1, "the sum of a part");
  }
  tutti_communicator_free(part);
  tutti_communicator_free(NULL);
}

static tutti_status wait_for_objects(tutti_objects* objects) {
  tutti_status status;
  status = tutti_objects_wait_for(objects, 1);
  return status == TUTTI_PENDING ? tutti_objects_wait_for(objects, TUTTI_FOREVER) : status;
}

static void test_objects(tutti_communicator* world) {
  const int32_t rank = tutti_rank(world);
  const char head[] = "rank ";
  char tail[2];
  char type[] = "text";
  tutti_piece pieces[2];
  tutti_object object;
  tutti_object_call call;
  tutti_objects* objects = NULL;
  tutti_objects* kept = NULL;
  const void* data = NULL;
  size_t bytes = 0;
  tail[0] = (char)('a' + rank);
  pieces[0].data = head;
  pieces[0].bytes = 5;
  pieces[1].data = tail;
  pieces[1].bytes = 1;
  object.pieces = pieces;
  object.count = 2;
  tutti_object_call_defaults(&call, sizeof call);
  call.kind = TUTTI_OBJECT_ALL_GATHER;
  call.objects = &object;
  call.count = 1;
  call.type = type;
  require_ok(tutti_objects_start(world, &call, &objects), "all_gather of objects");
  require_ok(wait_for_objects(objects), "wait for objects");
  require_true(tutti_objects_count(objects) == (size_t)tutti_size(world), "an object of each rank");
  require_ok(tutti_objects_get(objects, 0, &data, &bytes), "object 0");
  require_true(bytes == 6 && memcmp(data, "rank a", 6) == 0, "the object of rank 0");
  require_status(tutti_objects_get(objects, 99, &data, &bytes), TUTTI_INVALID_ARGUMENT,
                 "no object");
  require_ok(tutti_objects_keep(objects), "kept objects");
  require_status(tutti_objects_keep(NULL), TUTTI_INVALID_ARGUMENT, "no objects");
  kept = objects;
  call.failure = rank == 0 ? "it has a lock" : NULL;
  require_ok(tutti_objects_start(world, &call, &objects), "objects that fail");
  memset(type, 'x', sizeof type - 1); /* the call has a copy */
  require_status(wait_for_objects(objects), TUTTI_OBJECT, "rank 0 could not encode");
  require_text("of text: it has a lock");
  tutti_objects_free(objects);
  require_ok(tutti_barrier(world), "the communicator stays usable");
  require_true(tutti_objects_count(kept) == (size_t)tutti_size(world),
               "a kept object of each rank");
  require_ok(tutti_objects_get(kept, 0, &data, &bytes), "kept object 0");
  require_true(bytes == 6 && memcmp(data, "rank a", 6) == 0, "the kept object of rank 0");
  tutti_objects_free(kept);
}

/* A program of an earlier version knows fewer members; one of a later version more. */
static void test_sizes(tutti_communicator* world) {
  int32_t value = 1;
  tutti_call call = sum_of(&value, 1, TUTTI_I32);
  tutti_options options;
  struct {
    tutti_options known;
    char later[64];
  } longer;
  memset(&options, 0xee, sizeof options);
  tutti_options_defaults(&options, offsetof(tutti_options, transport));
  require_ok(tutti_run(world, &call, &options), "members that are not known are not read");
  memset(&longer, 0xee, sizeof longer);
  tutti_options_defaults(&longer.known, sizeof longer);
  require_ok(tutti_run(world, &call, &longer.known), "a longer struct");
  longer.later[3] = 1;
  require_status(tutti_run(world, &call, &longer.known), TUTTI_INVALID_ARGUMENT, "a later member");
  require_text("does not have");
  call.size = 0;
  require_status(tutti_run(world, &call, NULL), TUTTI_INVALID_ARGUMENT, "a struct without a size");
  require_text("tutti_..._defaults");
}

static void test_errors(tutti_communicator* world) {
  const size_t count = tutti_rank(world) == 0 ? 1 : 2;
  int32_t values[2] = {0, 0};
  tutti_call call;
  tutti_error error;
  tutti_communicator* result = NULL;
  require_status(tutti_barrier(NULL), TUTTI_INVALID_ARGUMENT, "no communicator");
  require_text("communicator is NULL");
  require_status(tutti_init(NULL, NULL), TUTTI_INVALID_ARGUMENT, "no result");
  require_status(tutti_group(world, NULL, 2, 0, &result), TUTTI_INVALID_ARGUMENT, "no members");
  require_true(result == NULL, "no communicator is made");
  require_status(tutti_all_reduce(world, NULL, values, 1, TUTTI_I32, TUTTI_SUM),
                 TUTTI_INVALID_ARGUMENT, "no input");
  require_status(tutti_all_reduce(world, values, values, 1, (tutti_datatype)50, TUTTI_SUM),
                 TUTTI_INVALID_ARGUMENT, "no datatype");
  require_text("tutti_datatype 50");
  tutti_call_defaults(&call, sizeof call);
  call.op = TUTTI_USER;
  require_status(tutti_run(world, &call, NULL), TUTTI_INVALID_ARGUMENT, "no user operator");
  if (tutti_size(world) == 1) return;
  require_status(tutti_all_reduce(world, values, values, count, TUTTI_I32, TUTTI_SUM),
                 TUTTI_MISMATCH, "rank 0 has another count");
  error.size = sizeof error;
  tutti_last_error(&error);
  require_true(error.status == TUTTI_MISMATCH && error.cause == TUTTI_MISMATCH, "its code");
  require_status(tutti_barrier(world), TUTTI_MISMATCH, "the communicator stays failed");
}

/* Objects on the last rank, which gives none unless it is the root. */
static void test_wrong_objects(tutti_communicator* world) {
  const tutti_piece piece = {"four", 4};
  const tutti_object given[] = {{&piece, 1}, {&piece, 1}, {&piece, 1}, {&piece, 1}};
  const int32_t size = tutti_size(world);
  const int is_last = tutti_rank(world) == size - 1;
  tutti_object_call call;
  tutti_objects* objects = NULL;
  tutti_object_call_defaults(&call, sizeof call);
  call.kind = TUTTI_OBJECT_SCATTER;
  call.objects = given;
  call.count = is_last ? 2 : tutti_rank(world) == 0 ? (size_t)size : 0;
  require_ok(tutti_objects_start(world, &call, &objects), "scatter of objects");
  require_status(wait_for_objects(objects), TUTTI_OBJECT, "wrong objects");
  require_text(size > 1 ? "2 objects were given on a rank that gives none: only the root"
                        : "2 objects were given for 1 ranks: one for each is needed");
  tutti_objects_free(objects);
  require_ok(tutti_barrier(world), "the communicator stays usable");
}

/* An exchange over another communicator, as a program's own would be. */
static int exchange(void* context, const void* own, size_t bytes, void* all) {
  return tutti_all_gather((tutti_communicator*)context, own, all, bytes, TUTTI_U8) != TUTTI_OK;
}

/* As a callback that an exception ends before its first statement. */
static int lose(void* context, const void* own, size_t bytes, void* all) {
  (void)context, (void)own, (void)bytes, (void)all;
  return 0;
}

static void test_channel(tutti_communicator* world) {
  tutti_channel channel;
  tutti_init_options options;
  tutti_communicator_options inner;
  tutti_communicator* other = NULL;
  memset(&channel, 0, sizeof channel);
  channel.size = sizeof channel;
  channel.rank = tutti_rank(world);
  channel.ranks = tutti_size(world);
  channel.name = "a test";
  channel.context = world;
  channel.all_gather = exchange;
  tutti_communicator_options_defaults(&inner, sizeof inner);
  inner.segments_in_flight = 2;
  tutti_init_options_defaults(&options, sizeof options);
  options.communicator = &inner;
  require_ok(tutti_init_over(&channel, &options, &other), "init_over");
  require_true(tutti_rank(other) == tutti_rank(world), "the same rank");
  require_ok(tutti_barrier(other), "a barrier of the other world");
  tutti_communicator_free(other);
  channel.all_gather = lose;
  require_status(tutti_init_over(&channel, &options, &other), TUTTI_TRANSPORT, "a lost exchange");
  require_text("all_gather of a test returned other bytes for rank");
  channel.all_gather = exchange;
  channel.rank = channel.ranks;
  require_status(tutti_init_over(&channel, NULL, &other), TUTTI_INVALID_ARGUMENT, "no such rank");
  require_text("0 <= rank < ranks");
}

int run_worlds(int argc, char** argv) {
  tutti_communicator* world = NULL;
  (void)argc;
  (void)argv;
  require_ok(tutti_init(NULL, &world), "init");
  require_true(tutti_size(world) <= kMost, "the test is for up to 16 ranks");
  test_texts(world);
  test_groups(world);
  test_objects(world);
  test_sizes(world);
  test_wrong_objects(world);
  test_channel(world);
  test_errors(world); /* the last one: the communicator fails */
  tutti_communicator_free(world);
  return 0;
}
