/** @file
 * Status, enumerations, handles and errors of the C interface.
 */
#ifndef TUTTI_C_TYPES_H
#define TUTTI_C_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks functions that the shared library exports. */
#if defined(__GNUC__)
#define TUTTI_C_API __attribute__((visibility("default")))
#else
#define TUTTI_C_API
#endif

/** Outcome of a call. The values are those of tutti::ErrorCode, counted from one. */
typedef enum tutti_status {
  TUTTI_OK = 0,
  TUTTI_INVALID_ARGUMENT = 1, /**< The call was wrong, and had no effect. */
  TUTTI_MISMATCH = 2,         /**< Ranks called different collectives, or with other arguments. */
  TUTTI_TIMEOUT = 3,          /**< The deadline passed. */
  TUTTI_PEER_DEAD = 4,        /**< A rank of the communicator is gone. */
  TUTTI_ABORTED = 5,          /**< A rank gave up. */
  TUTTI_TRANSPORT = 6,        /**< The system or the MPI failed, or memory ran out. */
  TUTTI_OBJECT = 7,           /**< Objects could not be moved; the communicator stays usable. */
  TUTTI_BUG = 8,              /**< An invariant of tutti does not hold. Please report it. */
  TUTTI_PENDING = 100         /**< Not done yet. Not an error. */
} tutti_status;

/** Collectives, in the order of tutti::Collective, and messages between two ranks. Programs keep
 * the numbers of this and the next two: new enumerators follow those that count from zero. */
typedef enum tutti_collective {
  TUTTI_ALL_REDUCE,
  TUTTI_REDUCE,
  TUTTI_BROADCAST,
  TUTTI_SCATTER,
  TUTTI_GATHER,
  TUTTI_ALL_GATHER,
  TUTTI_REDUCE_SCATTER,
  TUTTI_ALL_TO_ALL,
  TUTTI_SCAN,
  TUTTI_EXSCAN,
  TUTTI_BARRIER,
  TUTTI_SEND = 100,
  TUTTI_RECV = 101,
  TUTTI_SENDRECV = 102
} tutti_collective;

/** Element types, in the order of tutti::Datatype. TUTTI_BOOL is one byte, 0 or 1: its sum and max
 * are "or", its product and min "and". */
typedef enum tutti_datatype {
  TUTTI_I8,
  TUTTI_I16,
  TUTTI_I32,
  TUTTI_I64,
  TUTTI_U8,
  TUTTI_U16,
  TUTTI_U32,
  TUTTI_U64,
  TUTTI_F16,
  TUTTI_BF16,
  TUTTI_F32,
  TUTTI_F64,
  TUTTI_C32, /**< Two f32. */
  TUTTI_C64, /**< Two f64. */
  TUTTI_I32_INDEX,
  TUTTI_I64_INDEX,
  TUTTI_F32_INDEX,
  TUTTI_F64_INDEX,
  TUTTI_BOOL = 100,
  TUTTI_OPAQUE = 101 /**< Bytes that only user operators reduce; tutti_call::element_bytes each. */
} tutti_datatype;

/** Operators, in the order of tutti::OperatorKind. */
typedef enum tutti_op {
  TUTTI_SUM,
  TUTTI_PROD,
  TUTTI_MIN,
  TUTTI_MAX,
  TUTTI_MIN_LOC,
  TUTTI_MAX_LOC,
  TUTTI_LOGICAL_AND,
  TUTTI_LOGICAL_OR,
  TUTTI_LOGICAL_XOR,
  TUTTI_BIT_AND,
  TUTTI_BIT_OR,
  TUTTI_BIT_XOR,
  TUTTI_AVERAGE,
  TUTTI_USER = 100 /**< tutti_call::user_op. */
} tutti_op;

/** Which bits of a reduction are equal, in the order of tutti::Determinism. */
typedef enum tutti_determinism {
  TUTTI_DETERMINISM_DEFAULT = -1, /**< As the communicator's. */
  TUTTI_FAST,
  TUTTI_RANK_IDENTICAL,
  TUTTI_RUN_TO_RUN,
  TUTTI_SIZE_INVARIANT,
  TUTTI_LAYOUT_INVARIANT
} tutti_determinism;

/** A sender of any rank: tutti_probe. */
enum { TUTTI_ANY_RANK = -1 };
/** A timeout that never passes, in nanoseconds. */
static const int64_t TUTTI_FOREVER = INT64_MAX;

/** Ranks that call collectives together; see tutti::Communicator. */
typedef struct tutti_communicator tutti_communicator;
/** A call that has started; see tutti::Request. */
typedef struct tutti_request tutti_request;
/** A prepared call; see tutti::Plan. */
typedef struct tutti_plan tutti_plan;
/** Memory of tutti_allocate, tutti_memory_import or tutti_cuda_allocate. */
typedef struct tutti_memory tutti_memory;
/** A call that moves objects, and the objects that this rank receives. */
typedef struct tutti_objects tutti_objects;
/** An operator of the program; see tutti_make_operator. */
typedef struct tutti_operator tutti_operator;

/** The last error of a thread. */
typedef struct tutti_error {
  size_t size;         /**< Bytes of the struct. */
  tutti_status status; /**< The status that the function returned. */
  tutti_status cause; /**< For TUTTI_ABORTED, the first rank's error; else status. */
  int32_t rank;       /**< The rank at fault, or -1. */
  uint64_t call;      /**< The number of the collective that it is about, or 0. */
  const char* text;   /**< Until the next call of this thread that fails. */
} tutti_error;

/** @param error whose size is set; its other members are set. */
TUTTI_C_API void tutti_last_error(tutti_error* error);
/** @return such as "timeout". */
TUTTI_C_API const char* tutti_status_name(tutti_status status);
/** @return the version of the library, such as "0.1.0". */
TUTTI_C_API const char* tutti_version(void);
/** @return the version of this interface: functions and members are only added. */
TUTTI_C_API uint32_t tutti_interface_version(void);

#ifdef __cplusplus
}
#endif

#endif
