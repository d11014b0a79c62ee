/**
 * @file
 * The C interface of tutti: worlds, communicators, collectives, messages, objects, selection, the gradients
 * of a model, and calls on memory of GPUs.
 *
 * Status. Functions that can fail return a tutti_status. After any but TUTTI_OK and TUTTI_PENDING,
 * tutti_last_error says what was wrong, in the thread that called.
 *
 * Arguments. A wrong one, such as NULL where the description does not allow it, or a number that is no
 * enumerator, is TUTTI_INVALID_ARGUMENT; what the function returns through pointers is then NULL or 0. A
 * function that returns no status does nothing then, or returns 0, -1 or NULL.
 *
 * Structs. The first member of each is its size, by which later versions of the library know which
 * members a program has. The function tutti_..._defaults of a struct sets all members. A library that
 * is older than the program rejects members that it does not have, unless they are zero.
 *
 * Threads. A communicator and what was made of it serve one thread at a time, as in C++; a call of a
 * second thread is TUTTI_INVALID_ARGUMENT. tutti_communicator_waits may be called by any thread.
 *
 * Handles. A function that makes a handle sets *result, and NULL where it fails. The function
 * tutti_..._free accepts NULL. A handle keeps what it was made of alive.
 *
 * Strings are UTF-8 and end with a zero byte. NULL in a struct means the default.
 */
#ifndef TUTTI_H
#define TUTTI_H

#include <tutti_c/calls.h>
#include <tutti_c/communicator.h>
#include <tutti_c/cuda.h>
#include <tutti_c/gradients.h>
#include <tutti_c/objects.h>
#include <tutti_c/requests.h>
#include <tutti_c/types.h>

#endif
