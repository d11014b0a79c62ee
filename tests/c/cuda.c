/* Memory of GPUs from C99: on real ones, or on the stand-in for the CUDA driver. With the argument
 * "none", of a library that was built without CUDA. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#include "check.h"

enum { kCount = 1000, kBytes = kCount * (int)sizeof(float) };

typedef int (*initialize)(unsigned);
typedef int (*count_devices)(int*);
typedef int (*copy)(uint64_t to, uint64_t from, size_t bytes, void* stream);
typedef int (*synchronize)(void* stream);

/* A function of the driver. */
static void* driver(const char* name) {
  static void* library = NULL;
  void* function;
  if (library == NULL) library = dlopen("libcuda.so.1", RTLD_NOW);
  require_true(library != NULL, "libcuda.so.1 is there");
  function = dlsym(library, name);
  require_true(function != NULL, name);
  return function;
}

/* Copies to or from the GPU whose memory this is. */
static void move(void* to, const void* from) {
  copy copy_bytes;
  synchronize wait;
  *(void**)&copy_bytes = driver("cuMemcpyAsync");
  *(void**)&wait = driver("cuStreamSynchronize");
  require_true(copy_bytes((uint64_t)(uintptr_t)to, (uint64_t)(uintptr_t)from, kBytes, NULL) == 0,
               "a copy");
  require_true(wait(NULL) == 0, "the end of a copy");
}

static int32_t own_device(int32_t rank) {
  initialize init;
  count_devices count;
  int devices = 0;
  *(void**)&init = driver("cuInit");
  *(void**)&count = driver("cuDeviceGetCount");
  require_true(init(0) == 0 && count(&devices) == 0 && devices > 0, "there is a GPU");
  return rank % devices;
}

/* The primary context of a device, current in this thread. */
static void enter(int32_t device) {
  int (*retain)(void**, int);
  int (*set)(void*);
  void* context = NULL;
  *(void**)&retain = driver("cuDevicePrimaryCtxRetain");
  *(void**)&set = driver("cuCtxSetCurrent");
  require_true(retain(&context, device) == 0 && set(context) == 0, "a context");
}

static void test_sums(tutti_communicator* world) {
  static float values[kCount];
  const float sum = (float)(tutti_size(world) * (tutti_size(world) + 1) / 2);
  tutti_memory* memory = NULL;
  tutti_options options;
  tutti_call call;
  int i;
  require_ok(tutti_cuda_allocate(world, kBytes, &memory), "cuda_allocate");
  require_true(tutti_memory_data(memory) != NULL, "there is memory");
  require_true(tutti_memory_is_visible(memory) == 0, "the host does not see it");
  move(values, tutti_memory_data(memory));
  for (i = 0; i < kCount; ++i) require_true(values[i] == 0, "it is zeroed");
  for (i = 0; i < kCount; ++i) values[i] = (float)(tutti_rank(world) + 1);
  move(tutti_memory_data(memory), values);
  call = sum_of(tutti_memory_data(memory), kCount, TUTTI_F32);
  tutti_options_defaults(&options, sizeof options);
  require_status(tutti_run(world, &call, NULL), TUTTI_INVALID_ARGUMENT, "a call without a stream");
  require_text("lies in memory of a GPU");
  options.has_stream = 1;
  require_ok(tutti_run(world, &call, &options), "all_reduce");
  require_ok(tutti_cuda_wait(world, NULL, 0), "cuda_wait");
  move(values, tutti_memory_data(memory));
  for (i = 0; i < kCount; ++i) require_true(values[i] == sum, "the sum");
  tutti_memory_free(memory);
}

static void test_without(tutti_communicator* world) {
  tutti_memory* memory = (tutti_memory*)world;
  int32_t device = 0;
  require_status(tutti_cuda_attach(world, NULL), TUTTI_TRANSPORT, "cuda_attach");
  require_text("this build has no CUDA");
  require_status(tutti_cuda_current_device(&device), TUTTI_TRANSPORT, "cuda_current_device");
  require_status(tutti_cuda_wait(world, NULL, 0), TUTTI_TRANSPORT, "cuda_wait");
  require_status(tutti_cuda_allocate(world, 8, &memory), TUTTI_TRANSPORT, "cuda_allocate");
  require_true(memory == NULL, "there is no memory");
}

int run_cuda(int argc, char** argv) {
  tutti_communicator* world = NULL;
  tutti_cuda_options options;
  int32_t device = -1;
  (void)argv;
  require_ok(tutti_init(NULL, &world), "init");
  if (argc > 1) {
    test_without(world);
    tutti_communicator_free(world);
    return 0;
  }
  require_status(tutti_cuda_allocate(world, 8, NULL), TUTTI_INVALID_ARGUMENT, "no place for it");
  require_status(tutti_cuda_wait(world, NULL, 0), TUTTI_INVALID_ARGUMENT, "no GPU is attached");
  enter(own_device(tutti_rank(world)));
  require_ok(tutti_cuda_current_device(&device), "cuda_current_device");
  require_true(device == own_device(tutti_rank(world)), "the own device");
  tutti_cuda_options_defaults(&options, sizeof options);
  require_true(options.device == -1 && options.transport == NULL, "defaults");
  options.transport = "smoke";
  require_status(tutti_cuda_attach(world, &options), TUTTI_INVALID_ARGUMENT, "cuda_attach");
  require_text("do not go by 'smoke'");
  options.transport = "host";
  require_ok(tutti_cuda_attach(world, &options), "cuda_attach");
  test_sums(world);
  tutti_communicator_free(world);
  return 0;
}
