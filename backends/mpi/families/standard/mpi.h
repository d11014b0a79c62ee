/// @file
/// The standard binary interface of MPI 5.0, as far as tutti uses it ("MPI: A Message-Passing
/// Interface Standard, Version 5.0", 2025, chapter "Application Binary Interface"). A test compares
/// it with an MPI's own header.
#pragma once

#include <cstddef>
#include <cstdint>

using MPI_Aint = std::intptr_t;
using MPI_Comm = struct MPI_ABI_Comm*;
using MPI_Group = struct MPI_ABI_Group*;
using MPI_Request = struct MPI_ABI_Request*;
using MPI_Message = struct MPI_ABI_Message*;
using MPI_Errhandler = struct MPI_ABI_Errhandler*;
using MPI_Op = struct MPI_ABI_Op*;
using MPI_Datatype = struct MPI_ABI_Datatype*;
struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int internal[5];
};

inline const MPI_Comm MPI_COMM_NULL = reinterpret_cast<MPI_Comm>(0x100);
inline const MPI_Comm MPI_COMM_WORLD = reinterpret_cast<MPI_Comm>(0x101);
inline const MPI_Comm MPI_COMM_SELF = reinterpret_cast<MPI_Comm>(0x102);
inline const MPI_Group MPI_GROUP_NULL = reinterpret_cast<MPI_Group>(0x108);
inline const MPI_Request MPI_REQUEST_NULL = reinterpret_cast<MPI_Request>(0x180);
inline const MPI_Message MPI_MESSAGE_NULL = reinterpret_cast<MPI_Message>(0x128);
inline const MPI_Errhandler MPI_ERRORS_RETURN = reinterpret_cast<MPI_Errhandler>(0x143);
inline const MPI_Op MPI_OP_NULL = reinterpret_cast<MPI_Op>(0x20);
inline const MPI_Op MPI_SUM = reinterpret_cast<MPI_Op>(0x21);
inline const MPI_Op MPI_MIN = reinterpret_cast<MPI_Op>(0x22);
inline const MPI_Op MPI_MAX = reinterpret_cast<MPI_Op>(0x23);
inline const MPI_Op MPI_PROD = reinterpret_cast<MPI_Op>(0x24);
inline const MPI_Op MPI_BAND = reinterpret_cast<MPI_Op>(0x28);
inline const MPI_Op MPI_BOR = reinterpret_cast<MPI_Op>(0x29);
inline const MPI_Op MPI_BXOR = reinterpret_cast<MPI_Op>(0x2a);
inline const MPI_Op MPI_LAND = reinterpret_cast<MPI_Op>(0x30);
inline const MPI_Op MPI_LOR = reinterpret_cast<MPI_Op>(0x31);
inline const MPI_Op MPI_LXOR = reinterpret_cast<MPI_Op>(0x32);
inline const MPI_Op MPI_MINLOC = reinterpret_cast<MPI_Op>(0x38);
inline const MPI_Op MPI_MAXLOC = reinterpret_cast<MPI_Op>(0x39);
inline const MPI_Datatype MPI_DATATYPE_NULL = reinterpret_cast<MPI_Datatype>(0x200);
inline const MPI_Datatype MPI_BYTE = reinterpret_cast<MPI_Datatype>(0x247);
inline const MPI_Datatype MPI_INT = reinterpret_cast<MPI_Datatype>(0x209);
inline const MPI_Datatype MPI_INT8_T = reinterpret_cast<MPI_Datatype>(0x240);
inline const MPI_Datatype MPI_INT16_T = reinterpret_cast<MPI_Datatype>(0x248);
inline const MPI_Datatype MPI_INT32_T = reinterpret_cast<MPI_Datatype>(0x250);
inline const MPI_Datatype MPI_INT64_T = reinterpret_cast<MPI_Datatype>(0x258);
inline const MPI_Datatype MPI_UINT8_T = reinterpret_cast<MPI_Datatype>(0x241);
inline const MPI_Datatype MPI_UINT16_T = reinterpret_cast<MPI_Datatype>(0x249);
inline const MPI_Datatype MPI_UINT32_T = reinterpret_cast<MPI_Datatype>(0x251);
inline const MPI_Datatype MPI_UINT64_T = reinterpret_cast<MPI_Datatype>(0x259);
inline const MPI_Datatype MPI_FLOAT = reinterpret_cast<MPI_Datatype>(0x210);
inline const MPI_Datatype MPI_DOUBLE = reinterpret_cast<MPI_Datatype>(0x214);
inline const MPI_Datatype MPI_CXX_FLOAT_COMPLEX = reinterpret_cast<MPI_Datatype>(0x213);
inline const MPI_Datatype MPI_CXX_DOUBLE_COMPLEX = reinterpret_cast<MPI_Datatype>(0x217);
inline const MPI_Datatype MPI_FLOAT_INT = reinterpret_cast<MPI_Datatype>(0x228);
inline const MPI_Datatype MPI_DOUBLE_INT = reinterpret_cast<MPI_Datatype>(0x229);
inline const MPI_Datatype MPI_LONG_INT = reinterpret_cast<MPI_Datatype>(0x22a);
inline const MPI_Datatype MPI_2INT = reinterpret_cast<MPI_Datatype>(0x22b);

inline constexpr int MPI_SUCCESS = 0;
inline constexpr int MPI_ERR_COUNT = 2;
inline constexpr int MPI_ERR_INTERN = 17;
inline constexpr int MPI_ERR_IN_STATUS = 19;
inline constexpr int MPI_ERR_OTHER = 16;
inline constexpr int MPI_ERR_TRUNCATE = 15;
inline constexpr int MPI_ANY_SOURCE = -1;
inline constexpr int MPI_PROC_NULL = -3;
inline constexpr int MPI_UNDEFINED = -32766;
inline constexpr int MPI_TAG_UB = 501;
inline constexpr int MPI_KEYVAL_INVALID = 0;
inline constexpr int MPI_THREAD_SINGLE = 0;
inline constexpr int MPI_THREAD_FUNNELED = 1024;
inline constexpr int MPI_THREAD_SERIALIZED = 2048;
inline constexpr int MPI_THREAD_MULTIPLE = 4096;
inline constexpr int MPI_MAX_ERROR_STRING = 512;
inline constexpr int MPI_MAX_LIBRARY_VERSION_STRING = 8192;
inline constexpr int MPI_MAX_PROCESSOR_NAME = 256;

inline void* const MPI_BOTTOM = nullptr;
inline void* const MPI_IN_PLACE = reinterpret_cast<void*>(1);
inline MPI_Status* const MPI_STATUS_IGNORE = nullptr;

#include "../functions.h"

inline MPI_Comm_copy_attr_function* const MPI_COMM_NULL_COPY_FN = nullptr;
