/// @file
/// The binary interface of Open MPI 4 and 5, as far as tutti uses it. Its handles are addresses of
/// the library's objects. A test compares it with the MPI's own header.
#pragma once

#include <cstddef>

using MPI_Aint = std::ptrdiff_t;
using MPI_Comm = struct ompi_communicator_t*;
using MPI_Group = struct ompi_group_t*;
using MPI_Request = struct ompi_request_t*;
using MPI_Message = struct ompi_message_t*;
using MPI_Errhandler = struct ompi_errhandler_t*;
using MPI_Op = struct ompi_op_t*;
using MPI_Datatype = struct ompi_datatype_t*;
struct ompi_status_public_t {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int cancelled;
  std::size_t bytes;
};
using MPI_Status = ompi_status_public_t;

extern "C" {
extern ompi_communicator_t ompi_mpi_comm_null;
extern ompi_communicator_t ompi_mpi_comm_world;
extern ompi_communicator_t ompi_mpi_comm_self;
extern ompi_group_t ompi_mpi_group_null;
extern ompi_request_t ompi_request_null;
extern ompi_message_t ompi_message_null;
extern ompi_errhandler_t ompi_mpi_errors_return;
extern ompi_op_t ompi_mpi_op_null;
extern ompi_op_t ompi_mpi_op_sum;
extern ompi_op_t ompi_mpi_op_min;
extern ompi_op_t ompi_mpi_op_max;
extern ompi_op_t ompi_mpi_op_prod;
extern ompi_op_t ompi_mpi_op_band;
extern ompi_op_t ompi_mpi_op_bor;
extern ompi_op_t ompi_mpi_op_bxor;
extern ompi_op_t ompi_mpi_op_land;
extern ompi_op_t ompi_mpi_op_lor;
extern ompi_op_t ompi_mpi_op_lxor;
extern ompi_op_t ompi_mpi_op_minloc;
extern ompi_op_t ompi_mpi_op_maxloc;
extern ompi_datatype_t ompi_mpi_datatype_null;
extern ompi_datatype_t ompi_mpi_byte;
extern ompi_datatype_t ompi_mpi_int;
extern ompi_datatype_t ompi_mpi_int8_t;
extern ompi_datatype_t ompi_mpi_int16_t;
extern ompi_datatype_t ompi_mpi_int32_t;
extern ompi_datatype_t ompi_mpi_int64_t;
extern ompi_datatype_t ompi_mpi_uint8_t;
extern ompi_datatype_t ompi_mpi_uint16_t;
extern ompi_datatype_t ompi_mpi_uint32_t;
extern ompi_datatype_t ompi_mpi_uint64_t;
extern ompi_datatype_t ompi_mpi_float;
extern ompi_datatype_t ompi_mpi_double;
extern ompi_datatype_t ompi_mpi_cxx_cplex;
extern ompi_datatype_t ompi_mpi_cxx_dblcplex;
extern ompi_datatype_t ompi_mpi_float_int;
extern ompi_datatype_t ompi_mpi_double_int;
extern ompi_datatype_t ompi_mpi_long_int;
extern ompi_datatype_t ompi_mpi_2int;
}

inline const MPI_Comm MPI_COMM_NULL = &ompi_mpi_comm_null;
inline const MPI_Comm MPI_COMM_WORLD = &ompi_mpi_comm_world;
inline const MPI_Comm MPI_COMM_SELF = &ompi_mpi_comm_self;
inline const MPI_Group MPI_GROUP_NULL = &ompi_mpi_group_null;
inline const MPI_Request MPI_REQUEST_NULL = &ompi_request_null;
inline const MPI_Message MPI_MESSAGE_NULL = &ompi_message_null;
inline const MPI_Errhandler MPI_ERRORS_RETURN = &ompi_mpi_errors_return;
inline const MPI_Op MPI_OP_NULL = &ompi_mpi_op_null;
inline const MPI_Op MPI_SUM = &ompi_mpi_op_sum;
inline const MPI_Op MPI_MIN = &ompi_mpi_op_min;
inline const MPI_Op MPI_MAX = &ompi_mpi_op_max;
inline const MPI_Op MPI_PROD = &ompi_mpi_op_prod;
inline const MPI_Op MPI_BAND = &ompi_mpi_op_band;
inline const MPI_Op MPI_BOR = &ompi_mpi_op_bor;
inline const MPI_Op MPI_BXOR = &ompi_mpi_op_bxor;
inline const MPI_Op MPI_LAND = &ompi_mpi_op_land;
inline const MPI_Op MPI_LOR = &ompi_mpi_op_lor;
inline const MPI_Op MPI_LXOR = &ompi_mpi_op_lxor;
inline const MPI_Op MPI_MINLOC = &ompi_mpi_op_minloc;
inline const MPI_Op MPI_MAXLOC = &ompi_mpi_op_maxloc;
inline const MPI_Datatype MPI_DATATYPE_NULL = &ompi_mpi_datatype_null;
inline const MPI_Datatype MPI_BYTE = &ompi_mpi_byte;
inline const MPI_Datatype MPI_INT = &ompi_mpi_int;
inline const MPI_Datatype MPI_INT8_T = &ompi_mpi_int8_t;
inline const MPI_Datatype MPI_INT16_T = &ompi_mpi_int16_t;
inline const MPI_Datatype MPI_INT32_T = &ompi_mpi_int32_t;
inline const MPI_Datatype MPI_INT64_T = &ompi_mpi_int64_t;
inline const MPI_Datatype MPI_UINT8_T = &ompi_mpi_uint8_t;
inline const MPI_Datatype MPI_UINT16_T = &ompi_mpi_uint16_t;
inline const MPI_Datatype MPI_UINT32_T = &ompi_mpi_uint32_t;
inline const MPI_Datatype MPI_UINT64_T = &ompi_mpi_uint64_t;
inline const MPI_Datatype MPI_FLOAT = &ompi_mpi_float;
inline const MPI_Datatype MPI_DOUBLE = &ompi_mpi_double;
inline const MPI_Datatype MPI_CXX_FLOAT_COMPLEX = &ompi_mpi_cxx_cplex;
inline const MPI_Datatype MPI_CXX_DOUBLE_COMPLEX = &ompi_mpi_cxx_dblcplex;
inline const MPI_Datatype MPI_FLOAT_INT = &ompi_mpi_float_int;
inline const MPI_Datatype MPI_DOUBLE_INT = &ompi_mpi_double_int;
inline const MPI_Datatype MPI_LONG_INT = &ompi_mpi_long_int;
inline const MPI_Datatype MPI_2INT = &ompi_mpi_2int;

inline constexpr int MPI_SUCCESS = 0;
inline constexpr int MPI_ERR_COUNT = 2;
inline constexpr int MPI_ERR_INTERN = 17;
inline constexpr int MPI_ERR_IN_STATUS = 18;
inline constexpr int MPI_ERR_OTHER = 16;
inline constexpr int MPI_ERR_TRUNCATE = 15;
inline constexpr int MPI_ANY_SOURCE = -1;
inline constexpr int MPI_PROC_NULL = -2;
inline constexpr int MPI_UNDEFINED = -32766;
inline constexpr int MPI_TAG_UB = 0;
inline constexpr int MPI_KEYVAL_INVALID = -1;
inline constexpr int MPI_THREAD_SINGLE = 0;
inline constexpr int MPI_THREAD_FUNNELED = 1;
inline constexpr int MPI_THREAD_SERIALIZED = 2;
inline constexpr int MPI_THREAD_MULTIPLE = 3;
inline constexpr int MPI_MAX_ERROR_STRING = 256;
inline constexpr int MPI_MAX_LIBRARY_VERSION_STRING = 256;
inline constexpr int MPI_MAX_PROCESSOR_NAME = 256;

inline void* const MPI_BOTTOM = nullptr;
inline void* const MPI_IN_PLACE = reinterpret_cast<void*>(1);
inline MPI_Status* const MPI_STATUS_IGNORE = nullptr;

#include "../functions.h"

extern "C" MPI_Comm_copy_attr_function OMPI_C_MPI_COMM_NULL_COPY_FN;
inline MPI_Comm_copy_attr_function* const MPI_COMM_NULL_COPY_FN = OMPI_C_MPI_COMM_NULL_COPY_FN;
