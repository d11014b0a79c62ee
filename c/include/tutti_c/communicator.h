/** @file
 * Worlds, communicators, and memory that ranks see of each other.
 */
#ifndef TUTTI_C_COMMUNICATOR_H
#define TUTTI_C_COMMUNICATOR_H

#include <tutti_c/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As tutti::CommunicatorOptions. Equal on all ranks. */
typedef struct tutti_communicator_options {
  size_t size;     /**< Bytes of the struct. */
  int64_t timeout; /**< Nanoseconds of a call without its own. */
  /**@{*/
  /** As the member of tutti::CommunicatorOptions. */
  int32_t segments_in_flight;
  int32_t progress_thread; /**< Whether calls advance while the program calls nothing. */
  size_t cache_bytes;
  const char* transport;
  tutti_determinism determinism;
  /**@}*/
} tutti_communicator_options;

/** As tutti::InitOptions. */
typedef struct tutti_init_options {
  size_t size;         /**< Bytes of the struct. */
  const char* url;     /**< NULL: that of the launcher, or TUTTI_URL. */
  int32_t rank;        /**< Together with ranks. */
  int32_t ranks;       /**< Number of ranks; 0: as launched. */
  /**@{*/
  /** As the member of tutti::InitOptions. */
  const char* transport;
  int64_t timeout;           /**< Nanoseconds that ranks wait for each other; 0: the default. */
  int64_t heartbeat_timeout; /**< Nanoseconds after which a silent rank is given up. */
  const char* address;
  const char* secret_file;
  int32_t payload_checksum;
  int32_t network_megabits;
  int32_t insecure;
  int32_t tls;
  const char* tuning;
  const char* topology;
  const tutti_communicator_options* communicator; /**< NULL: the defaults. */
  /**@}*/
} tutti_init_options;

/** Exchange among ranks that know each other already, such as those of an MPI communicator. Used by
 * tutti_init_over only. */
typedef struct tutti_channel {
  size_t size;        /**< Bytes of the struct. */
  int32_t rank;       /**< The own rank. */
  int32_t ranks;      /**< Number of ranks. */
  const char* name;   /**< For people, such as "mpi4py". */
  int32_t is_private; /**< Whether only ranks of this job can read what is exchanged. */
  void* context;      /**< Passed to all_gather. */
  /** Collective: stores the bytes of rank r at all + r * bytes. @return 0, or another number, which
   * fails the start. */
  int (*all_gather)(void* context, const void* own, size_t bytes, void* all);
} tutti_channel;

/** Sets all members to their defaults. @param size bytes of the struct in this program. */
TUTTI_C_API void tutti_communicator_options_defaults(tutti_communicator_options* options,
                                                     size_t size);
/** Sets all members to their defaults. @param size bytes of the struct in this program. */
TUTTI_C_API void tutti_init_options_defaults(tutti_init_options* options, size_t size);

/** Connects to all ranks that were started together; see tutti::init. @param options NULL: the
 * defaults. */
TUTTI_C_API tutti_status tutti_init(const tutti_init_options* options, tutti_communicator** result);
/** As tutti_init, for ranks that know each other. Collective over the channel, which is not used
 * afterwards. The options url, rank and ranks are ignored. */
TUTTI_C_API tutti_status tutti_init_over(const tutti_channel* channel,
                                         const tutti_init_options* options,
                                         tutti_communicator** result);

/** Frees the handle: its requests, plans, memory and groups keep what they need. */
TUTTI_C_API void tutti_communicator_free(tutti_communicator* communicator);
/** @return the own rank. */
TUTTI_C_API int32_t tutti_rank(const tutti_communicator* communicator);
/** @return the number of ranks. */
TUTTI_C_API int32_t tutti_size(const tutti_communicator* communicator);
/** As tutti::Communicator::group. @param members `count` distinct ranks, the own one among them. */
TUTTI_C_API tutti_status tutti_group(tutti_communicator* communicator, const int32_t* members,
                                     size_t count, uint64_t key, tutti_communicator** result);
/** As tutti::Communicator::split. @param color of less than zero: no part; then *result is NULL. */
TUTTI_C_API tutti_status tutti_split(tutti_communicator* communicator, int32_t color, int32_t key,
                                     tutti_communicator** result);
/** @param hosts tutti_size of them: rank r is on host hosts[r]; -1 where that is not known. */
TUTTI_C_API tutti_status tutti_hosts(tutti_communicator* communicator, int32_t* hosts);

/* Texts. Each stores at most `capacity` bytes, the last of them zero, and the length of the whole
 * text without it in *length, which may be NULL; call again with more room where that is longer. */

/** One line about the ranks and what connects them. */
TUTTI_C_API tutti_status tutti_describe(const tutti_communicator* communicator, char* text,
                                        size_t capacity, size_t* length);
/** The address at which the other ranks reach this one, as a number, such as "10.0.0.1": for
 * servers to which they connect. The loopback if all ranks share it; empty if it is unknown, as
 * over an MPI. */
TUTTI_C_API tutti_status tutti_address(tutti_communicator* communicator, char* text,
                                       size_t capacity, size_t* length);
/** Stores the calls that this rank waits in now, one per line; empty if it does not wait. Any
 * thread. */
TUTTI_C_API tutti_status tutti_communicator_waits(const tutti_communicator* communicator,
                                                  char* text, size_t capacity, size_t* length);

/** Allocates zeroed memory that the other ranks of the host read and write in place, if there is
 * such memory. Local. */
TUTTI_C_API tutti_status tutti_allocate(tutti_communicator* communicator, size_t bytes,
                                        tutti_memory** result);
/** Makes memory of the program visible; see tutti::import_memory. Collective: all ranks import memory,
 * or none does. It must stay mapped until *result is freed, and its file must not become shorter.
 * @param file a descriptor, open for reading and writing; not used after the call. @param offset where
 * the memory begins in the file: a multiple of the page. @param address of a page, to which the program
 * has mapped the file, shared. @param bytes equal on all ranks. */
TUTTI_C_API tutti_status tutti_memory_import(tutti_communicator* communicator, int32_t file,
                                             uint64_t offset, void* address, size_t bytes,
                                             tutti_memory** result);
/** Frees the memory, which no call may use any more. */
TUTTI_C_API void tutti_memory_free(tutti_memory* memory);
/** @return the first byte; NULL of no bytes. */
TUTTI_C_API void* tutti_memory_data(const tutti_memory* memory);
/** @return whether the other ranks of the host see it. */
TUTTI_C_API int32_t tutti_memory_is_visible(const tutti_memory* memory);

#ifdef __cplusplus
}
#endif

#endif
