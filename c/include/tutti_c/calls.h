/** @file
 * Collectives and messages.
 */
#ifndef TUTTI_C_CALLS_H
#define TUTTI_C_CALLS_H

#include <tutti_c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A call; see tutti::Call for what each collective reads of it. */
typedef struct tutti_call {
  size_t size; /**< Bytes of the struct. */
  /**@{*/
  /** As the member of tutti::Call. */
  tutti_collective collective;
  tutti_datatype type;
  const void* in;
  void* out;
  size_t in_count;      /**< Elements. */
  size_t out_count;     /**< Elements. */
  size_t element_bytes; /**< Only for TUTTI_OPAQUE. */
  tutti_op op;
  int32_t root;
  const tutti_operator* user_op; /**< With TUTTI_USER. */
  const size_t* in_counts;       /**< Own counts of blocks, tutti_size of them; see tutti::Call. */
  const size_t* out_counts;
  int32_t to;   /**< The receiver: TUTTI_SEND and TUTTI_SENDRECV. */
  int32_t from; /**< The sender: TUTTI_RECV and TUTTI_SENDRECV. */
  int32_t tag;  /**< The tag of a message. */
  /**@}*/
} tutti_call;

/** As tutti::Options. */
typedef struct tutti_options {
  size_t size; /**< Bytes of the struct. */
  /**@{*/
  /** As the member of tutti::Options. */
  const char* algorithm;
  const char* transport;
  size_t segment;
  int64_t timeout; /**< Nanoseconds; 0: the communicator's. */
  tutti_determinism determinism;
  int32_t visible;
  const size_t* counts; /**< Elements per block, equal on all ranks; NULL: equal blocks. */
  size_t count_of_counts;
  int32_t has_stream; /**< Whether buffers are memory of a GPU, and stream is used. */
  void* stream;       /**< A cudaStream_t or CUstream. */
  /**@}*/
} tutti_options;

/** Sets all members to their defaults. @param size bytes of the struct in this program. */
TUTTI_C_API void tutti_call_defaults(tutti_call* call, size_t size);
/** Sets all members to their defaults. @param size bytes of the struct in this program. */
TUTTI_C_API void tutti_options_defaults(tutti_options* options, size_t size);

/** Runs a call to its end. @param options NULL: the defaults. */
TUTTI_C_API tutti_status tutti_run(tutti_communicator* communicator, const tutti_call* call,
                                   const tutti_options* options);
/** Runs a call for a time at most. @param slice nanoseconds. @param pending the call, where it is not
 * done by then: TUTTI_PENDING; else NULL. */
TUTTI_C_API tutti_status tutti_run_for(tutti_communicator* communicator, const tutti_call* call,
                                       const tutti_options* options, int64_t slice,
                                       tutti_request** pending);
/** Starts a call. Its buffers belong to it until it has ended. */
TUTTI_C_API tutti_status tutti_start(tutti_communicator* communicator, const tutti_call* call,
                                     const tutti_options* options, tutti_request** result);

/** For layers that check arguments themselves: makes no call, but takes its place, so that no call of
 * another rank meets a later one of this rank. If all ranks reject it nothing happens; otherwise the
 * communicator fails, and all ranks get TUTTI_MISMATCH with the reason. Does not wait.
 * @param call its collective, `to`, `from` and `tag` count. @param reason one sentence. */
TUTTI_C_API tutti_status tutti_reject_call(tutti_communicator* communicator,
                                           const tutti_call* call, const char* reason);

/**@{*/
/** A blocking call with default options; see the method of tutti::Communicator. `in` may be `out`.
 * @param count elements of the vector; of a block in tutti_scatter, tutti_gather, tutti_all_gather,
 * tutti_reduce_scatter and tutti_all_to_all. */
TUTTI_C_API tutti_status tutti_all_reduce(tutti_communicator* communicator, const void* in,
                                          void* out, size_t count, tutti_datatype type,
                                          tutti_op op);
TUTTI_C_API tutti_status tutti_reduce(tutti_communicator* communicator, const void* in, void* out,
                                      size_t count, tutti_datatype type, tutti_op op, int32_t root);
TUTTI_C_API tutti_status tutti_broadcast(tutti_communicator* communicator, void* inout,
                                         size_t count, tutti_datatype type, int32_t root);
TUTTI_C_API tutti_status tutti_scatter(tutti_communicator* communicator, const void* in, void* out,
                                       size_t count, tutti_datatype type, int32_t root);
TUTTI_C_API tutti_status tutti_gather(tutti_communicator* communicator, const void* in, void* out,
                                      size_t count, tutti_datatype type, int32_t root);
TUTTI_C_API tutti_status tutti_all_gather(tutti_communicator* communicator, const void* in,
                                          void* out, size_t count, tutti_datatype type);
TUTTI_C_API tutti_status tutti_reduce_scatter(tutti_communicator* communicator, const void* in,
                                              void* out, size_t count, tutti_datatype type,
                                              tutti_op op);
TUTTI_C_API tutti_status tutti_all_to_all(tutti_communicator* communicator, const void* in,
                                          void* out, size_t count, tutti_datatype type);
TUTTI_C_API tutti_status tutti_scan(tutti_communicator* communicator, const void* in, void* out,
                                    size_t count, tutti_datatype type, tutti_op op);
TUTTI_C_API tutti_status tutti_exscan(tutti_communicator* communicator, const void* in, void* out,
                                      size_t count, tutti_datatype type, tutti_op op);
/** As tutti::Communicator::barrier. */
TUTTI_C_API tutti_status tutti_barrier(tutti_communicator* communicator);
TUTTI_C_API tutti_status tutti_send(tutti_communicator* communicator, const void* in, size_t count,
                                    tutti_datatype type, int32_t to, int32_t tag);
TUTTI_C_API tutti_status tutti_recv(tutti_communicator* communicator, void* out, size_t count,
                                    tutti_datatype type, int32_t from, int32_t tag);
/**@}*/

#ifdef __cplusplus
}
#endif

#endif
