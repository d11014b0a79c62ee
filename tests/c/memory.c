/* Memory that ranks see, allocated and imported, from C99. */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

enum { kCount = 300000, kBytes = kCount * (int)sizeof(float) };

static void test_allocation(tutti_communicator* world) {
  tutti_memory* memory = NULL;
  require_ok(tutti_allocate(world, 64, &memory), "allocate");
  require_true(((char*)tutti_memory_data(memory))[63] == 0, "memory is zeroed");
  require_true(tutti_memory_is_visible(memory) == 1, "ranks of one host see it");
  tutti_memory_free(memory);
}

static int new_file(size_t bytes) {
  const int file = memfd_create("test", MFD_CLOEXEC);
  require_true(file >= 0 && ftruncate(file, (off_t)bytes) == 0, "a file");
  return file;
}

static float* map(int file, size_t bytes) {
  void* const data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  require_true(data != MAP_FAILED, "mmap");
  return (float*)data;
}

static void test_sums(tutti_communicator* world) {
  int round;
  for (round = 0; round < 3; ++round) { /* addresses are used again */
    const int file = new_file(kBytes);
    float* const data = map(file, kBytes);
    tutti_memory* memory = NULL;
    const tutti_call call = sum_of(data, kCount, TUTTI_F32);
    tutti_options options;
    int i;
    require_ok(tutti_memory_import(world, file, 0, data, kBytes, &memory), "memory_import");
    close(file);
    require_true(tutti_memory_data(memory) == (void*)data, "its address");
    require_true(tutti_memory_is_visible(memory) == 1, "ranks of one host see it");
    for (i = 0; i < kCount; ++i) data[i] = (float)(tutti_rank(world) + i % 5 + round);
    tutti_options_defaults(&options, sizeof options);
    options.visible = 1;
    require_ok(tutti_run(world, &call, &options), "all_reduce");
    for (i = 0; i < kCount; ++i) {
      const int32_t size = tutti_size(world);
      require_true(data[i] == (float)(size * (size - 1) / 2 + size * (i % 5 + round)), "the sum");
    }
    tutti_memory_free(memory);
    munmap(data, kBytes);
  }
}

static void test_wrong_arguments(tutti_communicator* world) {
  const int file = new_file(kBytes);
  float* const data = map(file, kBytes);
  char* const inside = (char*)data + 64;
  const int last = tutti_rank(world) == tutti_size(world) - 1;
  tutti_memory* memory = NULL;
  float value = 1;
  require_status(tutti_memory_import(world, last ? -1 : file, 0, data, kBytes, &memory),
                 TUTTI_INVALID_ARGUMENT, "the last rank has no file");
  require_text("cannot import memory: descriptor -1");
  require_true(memory == NULL, "no memory is made");
  require_status(tutti_memory_import(world, file, 0, last ? inside : (char*)data, 64, &memory),
                 TUTTI_INVALID_ARGUMENT, "an address in a page");
  require_text("does not begin at a page");
  require_status(tutti_memory_import(world, file, 0, data, last ? 2 * kBytes : kBytes, &memory),
                 TUTTI_INVALID_ARGUMENT, "more than the file has");
  require_text("do not fit the file");
  require_status(tutti_memory_import(world, file, last ? 4096 : 0, data, 4096, &memory),
                 TUTTI_INVALID_ARGUMENT, "another part of the file");
  require_text("is not a shared, writable mapping");
  require_status(tutti_memory_import(world, file, 0, data, 0, &memory), TUTTI_INVALID_ARGUMENT,
                 "no bytes");
  if (tutti_size(world) > 1) {
    require_status(tutti_memory_import(world, file, 0, data, last ? 4096 : 8192, &memory),
                   TUTTI_INVALID_ARGUMENT, "another size");
    require_text("imports 4096 bytes, and rank 0 8192");
  }
  require_ok(tutti_all_reduce(world, &value, &value, 1, TUTTI_F32, TUTTI_SUM), "it stays usable");
  munmap(data, kBytes);
  close(file);
}

int run_memory(int argc, char** argv) {
  tutti_communicator* world = NULL;
  (void)argc;
  (void)argv;
  require_ok(tutti_init(NULL, &world), "init");
  test_allocation(world);
  test_sums(world);
  test_wrong_arguments(world);
  tutti_communicator_free(world);
  return 0;
}
