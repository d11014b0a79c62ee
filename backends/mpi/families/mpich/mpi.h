/// @file
/// The binary interface of MPICH 3.2 and later, Intel MPI, MVAPICH and Cray MPICH, as far as tutti
/// uses it (the "MPICH ABI Compatibility Initiative"). A test compares it with the MPI's own
/// header.
#pragma once

#include <cstddef>

using MPI_Aint = std::ptrdiff_t;
using MPI_Comm = int;
using MPI_Group = int;
using MPI_Request = int;
using MPI_Message = int;
using MPI_Errhandler = int;
using MPI_Op = int;
using MPI_Datatype = int;
struct MPI_Status {
  int count_low;
  int count_high_and_cancelled;
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
};

inline constexpr MPI_Comm MPI_COMM_NULL = 0x04000000;
inline constexpr MPI_Comm MPI_COMM_WORLD = 0x44000000;
inline constexpr MPI_Comm MPI_COMM_SELF = 0x44000001;
inline constexpr MPI_Group MPI_GROUP_NULL = 0x08000000;
inline constexpr MPI_Request MPI_REQUEST_NULL = 0x2c000000;
inline constexpr MPI_Message MPI_MESSAGE_NULL = 0x2c000000;
inline constexpr MPI_Errhandler MPI_ERRORS_RETURN = 0x54000001;
inline constexpr MPI_Op MPI_OP_NULL = 0x18000000;
inline constexpr MPI_Op MPI_SUM = 0x58000003;
inline constexpr MPI_Op MPI_MIN = 0x58000002;
inline constexpr MPI_Op MPI_MAX = 0x58000001;
inline constexpr MPI_Op MPI_PROD = 0x58000004;
inline constexpr MPI_Op MPI_BAND = 0x58000006;
inline constexpr MPI_Op MPI_BOR = 0x58000008;
inline constexpr MPI_Op MPI_BXOR = 0x5800000a;
inline constexpr MPI_Op MPI_LAND = 0x58000005;
inline constexpr MPI_Op MPI_LOR = 0x58000007;
inline constexpr MPI_Op MPI_LXOR = 0x58000009;
inline constexpr MPI_Op MPI_MINLOC = 0x5800000b;
inline constexpr MPI_Op MPI_MAXLOC = 0x5800000c;
inline constexpr MPI_Datatype MPI_DATATYPE_NULL = 0x0c000000;
inline constexpr MPI_Datatype MPI_BYTE = 0x4c00010d;
inline constexpr MPI_Datatype MPI_INT = 0x4c000405;
inline constexpr MPI_Datatype MPI_INT8_T = 0x4c000137;
inline constexpr MPI_Datatype MPI_INT16_T = 0x4c000238;
inline constexpr MPI_Datatype MPI_INT32_T = 0x4c000439;
inline constexpr MPI_Datatype MPI_INT64_T = 0x4c00083a;
inline constexpr MPI_Datatype MPI_UINT8_T = 0x4c00013b;
inline constexpr MPI_Datatype MPI_UINT16_T = 0x4c00023c;
inline constexpr MPI_Datatype MPI_UINT32_T = 0x4c00043d;
inline constexpr MPI_Datatype MPI_UINT64_T = 0x4c00083e;
inline constexpr MPI_Datatype MPI_FLOAT = 0x4c00040a;
inline constexpr MPI_Datatype MPI_DOUBLE = 0x4c00080b;
inline constexpr MPI_Datatype MPI_CXX_FLOAT_COMPLEX = 0x4c000834;
inline constexpr MPI_Datatype MPI_CXX_DOUBLE_COMPLEX = 0x4c001035;
inline constexpr MPI_Datatype MPI_FLOAT_INT = static_cast<int>(0x8c000000);
inline constexpr MPI_Datatype MPI_DOUBLE_INT = static_cast<int>(0x8c000001);
inline constexpr MPI_Datatype MPI_LONG_INT = static_cast<int>(0x8c000002);
inline constexpr MPI_Datatype MPI_2INT = 0x4c000816;

inline constexpr int MPI_SUCCESS = 0;
inline constexpr int MPI_ERR_COUNT = 2;
inline constexpr int MPI_ERR_INTERN = 16;
inline constexpr int MPI_ERR_IN_STATUS = 17;
inline constexpr int MPI_ERR_OTHER = 15;
inline constexpr int MPI_ERR_TRUNCATE = 14;
inline constexpr int MPI_ANY_SOURCE = -2;
inline constexpr int MPI_PROC_NULL = -1;
inline constexpr int MPI_UNDEFINED = -32766;
inline constexpr int MPI_TAG_UB = 1681915905;
inline constexpr int MPI_KEYVAL_INVALID = 603979776;
inline constexpr int MPI_THREAD_SINGLE = 0;
inline constexpr int MPI_THREAD_FUNNELED = 1;
inline constexpr int MPI_THREAD_SERIALIZED = 2;
inline constexpr int MPI_THREAD_MULTIPLE = 3;
inline constexpr int MPI_MAX_ERROR_STRING = 512;
inline constexpr int MPI_MAX_LIBRARY_VERSION_STRING = 8192;
inline constexpr int MPI_MAX_PROCESSOR_NAME = 128;

inline void* const MPI_BOTTOM = nullptr;
inline void* const MPI_IN_PLACE = reinterpret_cast<void*>(-1);
inline MPI_Status* const MPI_STATUS_IGNORE = reinterpret_cast<MPI_Status*>(1);

#include "../functions.h"

inline MPI_Comm_copy_attr_function* const MPI_COMM_NULL_COPY_FN = nullptr;
