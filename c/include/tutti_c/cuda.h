/** @file
 * Calls on memory of GPUs. A library that was built without the CUDA toolkit has these functions too,
 * and they return TUTTI_TRANSPORT.
 */
#ifndef TUTTI_C_CUDA_H
#define TUTTI_C_CUDA_H

#include <tutti_c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As tutti::cuda::AttachOptions. */
typedef struct tutti_cuda_options {
  size_t size;           /**< Bytes of the struct. */
  const char* transport; /**< "nccl" or "host", equal on all ranks; NULL: "nccl". */
  int64_t timeout;       /**< Nanoseconds; 0: the default. */
  int32_t device;        /**< -1: as tutti_cuda_current_device. */
  int32_t visible;       /**< Equal on all ranks. */
  int32_t compare_calls; /**< Equal on all ranks. */
  int32_t nonblocking;   /**< As the member of tutti::cuda::AttachOptions. */
} tutti_cuda_options;

/** Sets all members to their defaults. @param size bytes of the struct in this program. */
TUTTI_C_API void tutti_cuda_options_defaults(tutti_cuda_options* options, size_t size);

/** As tutti::cuda::current_device, of this thread. @param device set to -1 if there is none. */
TUTTI_C_API tutti_status tutti_cuda_current_device(int32_t* device);

/** Attaches a GPU on each rank, so that the communicator accepts calls with tutti_options::stream;
 * see tutti::cuda::attach. tutti_run then returns once the call's work is on its stream. Collective.
 * @param options NULL: the defaults. */
TUTTI_C_API tutti_status tutti_cuda_attach(tutti_communicator* communicator,
                                           const tutti_cuda_options* options);
/** Waits until a stream has done all enqueued work; see tutti::cuda::wait. @param timeout
 * nanoseconds; 0: the default. */
TUTTI_C_API tutti_status tutti_cuda_wait(tutti_communicator* communicator, void* stream,
                                         int64_t timeout);
/** Allocates zeroed memory of the GPU for the fastest messages; see tutti::cuda::allocate. Collective.
 * @param bytes equal on all ranks. */
TUTTI_C_API tutti_status tutti_cuda_allocate(tutti_communicator* communicator, size_t bytes,
                                             tutti_memory** result);

#ifdef __cplusplus
}
#endif

#endif
