/** @file
 * GradientSync: the gradients of a model, reduced while they are computed.
 */
#ifndef TUTTI_C_GRADIENTS_H
#define TUTTI_C_GRADIENTS_H

#include <tutti_c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A parameter of a model; as tutti::Parameter. */
typedef struct tutti_parameter {
  size_t size; /**< Bytes of the struct. */
  /**@{*/
  /** As the member of tutti::Parameter. */
  const char* name;
  void* data; /**< Its gradient; NULL with TUTTI_STORAGE_VIEWS. */
  size_t count;
  tutti_datatype type; /**< TUTTI_F16, TUTTI_BF16, TUTTI_F32 or TUTTI_F64. */
  uint32_t group;
  uint64_t layout;
  size_t rows;
  int32_t visible;
  int32_t tied;
  /**@}*/
} tutti_parameter;

/** As tutti::GradientOrder. */
typedef enum tutti_gradient_order {
  TUTTI_ORDER_REVERSED,
  TUTTI_ORDER_OBSERVED,
  TUTTI_ORDER_NEGOTIATED,
  TUTTI_ORDER_AUTOMATIC
} tutti_gradient_order;

/** As tutti::GradientStorage. */
typedef enum tutti_gradient_storage {
  TUTTI_STORAGE_COPIES,
  TUTTI_STORAGE_VIEWS,
  TUTTI_STORAGE_FLAT
} tutti_gradient_storage;

/** As tutti::UnusedGradients. */
typedef enum tutti_unused_gradients {
  TUTTI_UNUSED_ERROR,
  TUTTI_UNUSED_ZEROS,
  TUTTI_UNUSED_DETECT
} tutti_unused_gradients;

/** As tutti::GradientOptions, without its callbacks. */
typedef struct tutti_gradient_options {
  size_t size; /**< Bytes of the struct. */
  /**@{*/
  /** As the member of tutti::GradientOptions. */
  size_t bucket_bytes;
  size_t first_bucket_bytes;
  size_t in_place_bytes;
  tutti_gradient_order order;
  tutti_gradient_storage storage;
  tutti_unused_gradients unused;
  int32_t average;
  int32_t check_finite;
  int32_t norm;
  double max_norm;
  int32_t hash;
  int32_t compression_after;
  const char* compression;
  int32_t verify_every;
  int32_t resync_every;
  const tutti_parameter* state;
  size_t state_count; /**< Length of state. */
  tutti_communicator* const* groups;
  size_t group_count; /**< Length of groups. */
  int32_t in_flight;
  int64_t timeout;
  const char* algorithm;
  const size_t* known_order;
  size_t known_order_count; /**< Length of known_order. */
  size_t record;
  int32_t has_stream;
  void* stream;
  /**@}*/
} tutti_gradient_options;

/** As tutti::StepReport; times in nanoseconds. */
typedef struct tutti_step_report {
  size_t size; /**< Bytes of the struct. */
  /**@{*/
  /** As the member of tutti::StepReport. */
  uint64_t step;
  int32_t active;
  int64_t computing;
  int64_t exposed;
  int64_t waiting;
  int64_t communicating;
  double hidden;
  int64_t skew;
  int32_t last;
  double norm;
  uint32_t hash;
  uint64_t not_finite_count;
  size_t not_finite_parameter;
  size_t not_finite_bucket;
  int32_t not_finite_rank;
  uint64_t sent_bytes;
  uint64_t plain_bytes;
  /**@}*/
} tutti_step_report;

/** Reduces the gradients of a model; see tutti::GradientSync. */
typedef struct tutti_gradient_sync tutti_gradient_sync;

/** Sets all members to their defaults. @param size bytes of the struct in this program. */
TUTTI_C_API void tutti_parameter_defaults(tutti_parameter* parameter, size_t size);
/** Sets all members to their defaults. @param size bytes of the struct in this program. */
TUTTI_C_API void tutti_gradient_options_defaults(tutti_gradient_options* options, size_t size);
/** Collective. @param parameters `count` of them, each of the same size; copied. @param options NULL:
 * the defaults. */
TUTTI_C_API tutti_status tutti_make_gradient_sync(tutti_communicator* communicator,
                                                  const tutti_parameter* parameters, size_t count,
                                                  const tutti_gradient_options* options,
                                                  tutti_gradient_sync** result);
/** As the destructor of tutti::GradientSync. */
TUTTI_C_API void tutti_gradient_sync_free(tutti_gradient_sync* sync);
/** From any thread; wait-free. A wrong index fails the step. */
TUTTI_C_API void tutti_gradient_ready(tutti_gradient_sync* sync, size_t parameter);
/** As tutti::GradientSync::accumulated. */
TUTTI_C_API void tutti_gradient_accumulated(tutti_gradient_sync* sync, size_t parameter);
/** Waits until all gradients are reduced on all ranks. @param report whose size is set, or NULL. */
TUTTI_C_API tutti_status tutti_gradient_wait(tutti_gradient_sync* sync, tutti_step_report* report);
/** As tutti::GradientSync::join. @param steps set to the number of steps of others, or NULL. */
TUTTI_C_API tutti_status tutti_gradient_join(tutti_gradient_sync* sync, uint64_t* steps);
/** As tutti::GradientSync::synchronize. @param timeout nanoseconds. */
TUTTI_C_API tutti_status tutti_gradient_synchronize(tutti_gradient_sync* sync, int64_t timeout);
/** @return where the gradient lies, with TUTTI_STORAGE_VIEWS; else NULL. */
TUTTI_C_API void* tutti_gradient_view(const tutti_gradient_sync* sync, size_t parameter);
/** As tutti::GradientSync::broadcast_state. */
TUTTI_C_API tutti_status tutti_broadcast_state(tutti_gradient_sync* sync,
                                               const tutti_parameter* arrays, size_t count,
                                               int32_t root);
/** As tutti::GradientSync::verify_state. */
TUTTI_C_API tutti_status tutti_verify_state(tutti_gradient_sync* sync,
                                            const tutti_parameter* arrays, size_t count);
/** As tutti::GradientSync::average_buffers. */
TUTTI_C_API tutti_status tutti_average_buffers(tutti_gradient_sync* sync,
                                               const tutti_parameter* arrays, size_t count);
/** @return a number that is equal where plans are. */
TUTTI_C_API uint64_t tutti_gradient_plan_hash(const tutti_gradient_sync* sync);
/** @return the number of buckets. */
TUTTI_C_API size_t tutti_gradient_bucket_count(const tutti_gradient_sync* sync);
/** @param bucket in the order in which buckets start. @param parameters set to the indices of its
 * parameters, until the next call of this function. @param count set to their number. */
TUTTI_C_API tutti_status tutti_gradient_bucket(tutti_gradient_sync* sync, size_t bucket,
                                               const size_t** parameters, size_t* count);
/** As tutti::GradientSync::write_trace. */
TUTTI_C_API tutti_status tutti_write_trace(tutti_gradient_sync* sync, const char* path);

#ifdef __cplusplus
}
#endif

#endif
