/** @file
 * Objects as bytes.
 */
#ifndef TUTTI_C_OBJECTS_H
#define TUTTI_C_OBJECTS_H

#include <tutti_c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The way objects go. */
typedef enum tutti_object_kind {
  TUTTI_OBJECT_BROADCAST,  /**< The root's to every rank. */
  TUTTI_OBJECT_SCATTER,    /**< Object r of the root goes to rank r. */
  TUTTI_OBJECT_GATHER,     /**< Every rank's to the root. */
  TUTTI_OBJECT_ALL_GATHER, /**< Every rank's to every rank. */
  TUTTI_OBJECT_ALL_TO_ALL, /**< Object r of every rank goes to rank r. */
  TUTTI_OBJECT_SEND,
  TUTTI_OBJECT_RECV
} tutti_object_kind;

/** A part of an object's bytes. */
typedef struct tutti_piece {
  const void* data; /**< The first byte. */
  size_t bytes;     /**< Number of bytes. */
} tutti_piece;

/** An object, as bytes that lie in several places, such as a pickle and its buffers. */
typedef struct tutti_object {
  const tutti_piece* pieces; /**< All bytes, in this order. */
  size_t count;              /**< Pieces. */
} tutti_object;

/** A call that moves objects. */
typedef struct tutti_object_call {
  size_t size;            /**< Bytes of the struct. */
  tutti_object_kind kind; /**< The operation. */
  int32_t root;           /**< For broadcast, scatter and gather. */
  int32_t peer; /**< For send and recv. */
  int32_t tag;  /**< For send and recv. */
  const tutti_object* objects; /**< This rank's objects: copied when the call starts. */
  size_t count;                /**< Objects: one, or tutti_size of them of scatter and all_to_all. More are
                                * not read, and all ranks get TUTTI_OBJECT. */
  const char* type;   /**< Name of the objects' type, which must be equal on all ranks; or NULL. */
  size_t most_bytes;  /**< That one object may have; the least that a rank gives counts. */
  int64_t timeout;    /**< Nanoseconds; 0: the communicator's. */
  const char* failure; /**< Why this rank could not encode its objects: all ranks get it as
                        * TUTTI_OBJECT. NULL: it could. */
} tutti_object_call;

/** Sets all members to their defaults. @param size bytes of the struct in this program. */
TUTTI_C_API void tutti_object_call_defaults(tutti_object_call* call, size_t size);
/** Starts a call, and copies what its members point at. @param result received objects; freed while
 * pending it fails the communicator. */
TUTTI_C_API tutti_status tutti_objects_start(tutti_communicator* communicator,
                                             const tutti_object_call* call, tutti_objects** result);
/** As tutti_wait_for. */
TUTTI_C_API tutti_status tutti_objects_wait_for(tutti_objects* objects, int64_t slice);
/** As tutti_request_notify; tutti_objects_wait_for then does not wait. */
TUTTI_C_API tutti_status tutti_objects_notify(tutti_objects* objects, int32_t eventfd);
/** @return the number of objects that this rank gets, once the call is done. */
TUTTI_C_API size_t tutti_objects_count(const tutti_objects* objects);
/** @param index of less than tutti_objects_count: the rank that gave it, or 0 where one did. @param
 * data set to its bytes, until `objects` is freed; not set of an object that this rank broadcast. */
TUTTI_C_API tutti_status tutti_objects_get(const tutti_objects* objects, size_t index,
                                           const void** data, size_t* bytes);
/** Separates received objects from the communicator, once the call is done. Their bytes stay where
 * they are; from now on the program may write them, and free `objects` on any thread, while the
 * communicator is used or after it is gone. */
TUTTI_C_API tutti_status tutti_objects_keep(tutti_objects* objects);
/** Frees a call, and the objects that it received. */
TUTTI_C_API void tutti_objects_free(tutti_objects* objects);

#ifdef __cplusplus
}
#endif

#endif
