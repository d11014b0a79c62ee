/** @file
 * Calls under way, prepared calls, batches, probes, selection and user operators.
 */
#ifndef TUTTI_C_REQUESTS_H
#define TUTTI_C_REQUESTS_H

#include <tutti_c/calls.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Requests. A pending request that is freed fails its communicator. */

/** Waits for the end of a call. A failed call stays failed: all later functions return its error. */
TUTTI_C_API tutti_status tutti_wait(tutti_request* request);
/** Waits for a time at most, which fails nothing. @param slice nanoseconds. @return TUTTI_PENDING
 * where the call has not ended by then. */
TUTTI_C_API tutti_status tutti_wait_for(tutti_request* request, int64_t slice);
/** Makes progress. @return TUTTI_PENDING where the call has not ended. */
TUTTI_C_API tutti_status tutti_test(tutti_request* request);
/** Adds one to an eventfd when the call ends or fails, or when the request is freed, so that an event
 * loop waits for it; tutti_test then does not wait. If the call has ended, adds it at once. Until then
 * a thread of tutti makes progress, as with tutti_communicator_options::progress_thread. @param eventfd
 * open until that time, and non-blocking. It replaces that of the call before; less than zero: none. */
TUTTI_C_API tutti_status tutti_request_notify(tutti_request* request, int32_t eventfd);
/** Waits for all, also where some fail, or are NULL, which is an error too. @return the first error. */
TUTTI_C_API tutti_status tutti_wait_all(tutti_request* const* requests, size_t count);
/** Frees a request. A pending one fails its communicator. */
TUTTI_C_API void tutti_request_free(tutti_request* request);

/** From now on a flag interrupts the calls of this thread that wait for other ranks, such as
 * tutti_init and tutti_split: while it is not zero, such a call ends with TUTTI_ABORTED within some
 * milliseconds. Its communicator fails, on all ranks, unless the call is tutti_probe. A signal
 * handler or another thread sets the flag. @param flag lives until it is replaced; NULL: none. */
TUTTI_C_API void tutti_interrupt_by(const volatile int32_t* flag);

/* Plans; see tutti::Plan. */

/** Prepares a call, which does not start. @param call not used afterwards, but its buffers are. */
TUTTI_C_API tutti_status tutti_make_plan(tutti_communicator* communicator, const tutti_call* call,
                                         const tutti_options* options, tutti_plan** result);
/** Starts a run. @param in and out other buffers of the same sizes; both NULL: those of the call that
 * made the plan. */
TUTTI_C_API tutti_status tutti_plan_start(tutti_plan* plan, const void* in, void* out);
/** As tutti_wait. */
TUTTI_C_API tutti_status tutti_plan_wait(tutti_plan* plan);
/** As tutti_wait_for. */
TUTTI_C_API tutti_status tutti_plan_wait_for(tutti_plan* plan, int64_t slice);
/** As tutti_test. */
TUTTI_C_API tutti_status tutti_plan_test(tutti_plan* plan);
/** @return such as "knomial:k=4"; lives as long as the plan. */
TUTTI_C_API const char* tutti_plan_algorithm(const tutti_plan* plan);
/** As the destructor of tutti::Plan. */
TUTTI_C_API void tutti_plan_free(tutti_plan* plan);

/* Batches; see tutti::batch. The calls of this thread between begin and end start together. */

/** Begins a batch. */
TUTTI_C_API tutti_status tutti_batch_begin(void);
/** Starts the calls, and waits for those that block. @return the first error of them. */
TUTTI_C_API tutti_status tutti_batch_end(void);
/** Drops the calls; none of them starts. */
TUTTI_C_API void tutti_batch_cancel(void);

/** A message that no call receives yet. */
typedef struct tutti_arrival {
  size_t size;  /**< Bytes of the struct. */
  int32_t from; /**< Its sender. */
  int32_t tag;  /**< Its tag. */
  size_t bytes; /**< Its length. */
} tutti_arrival;

/** Waits for a message. @param from its sender, or TUTTI_ANY_RANK. @param slice nanoseconds; it fails
 * nothing. @param arrival whose size is set. @return TUTTI_PENDING where none has come by then. */
TUTTI_C_API tutti_status tutti_probe(tutti_communicator* communicator, int32_t from, int32_t tag,
                                     int64_t slice, tutti_arrival* arrival);

/* Selection. Texts as of tutti_describe. */

/** Stores the choice for a call, the predicted time of each candidate, and why others are
 * rejected. */
TUTTI_C_API tutti_status tutti_explain(tutti_communicator* communicator, const tutti_call* call,
                                       const tutti_options* options, char* text, size_t capacity,
                                       size_t* length);

/* User operators. */

/** Combines elements: out[i] = left[i] op right[i] for `count` elements; out may be left or right.
 * It is called by threads that are in a call of tutti, and by tutti's own with progress_thread, or
 * while a call has an eventfd of tutti_request_notify. It must not call tutti.
 * @return 0, or another number if it fails: then the call fails with TUTTI_ABORTED, here and on all
 * ranks that need its result. tutti_operator_error gives their error a text. */
typedef int (*tutti_combine)(void* context, const void* left, const void* right, void* out,
                             size_t count);

/** @param combine called as long as calls with the operator run. @param commutative whether operands
 * may be exchanged. @param release called with context when it is needed no more, or NULL. */
TUTTI_C_API tutti_status tutti_make_operator(tutti_combine combine, void* context,
                                             int32_t commutative, void (*release)(void* context),
                                             tutti_operator** result);
/** As tutti_make_operator, for languages in which an exception can end a callback anywhere, which then
 * returns any number, as those of Python's ctypes do. Each call of `combine` fails unless the last that
 * it does is tutti_operator_error(""). */
TUTTI_C_API tutti_status tutti_make_checked_operator(tutti_combine combine, void* context,
                                                     int32_t commutative,
                                                     void (*release)(void* context),
                                                     tutti_operator** result);
/** Called by an operator that is about to return another number than 0: the error of each rank has
 * `text` in place of the number. It is copied. NULL or empty: there is no error. */
TUTTI_C_API void tutti_operator_error(const char* text);
/** Calls that run keep what they need of it. */
TUTTI_C_API void tutti_operator_free(tutti_operator* user_op);

#ifdef __cplusplus
}
#endif

#endif
