/// @file
/// The kernels that reduce and copy: one table per instruction set, filled from one source. Files
/// that are compiled for newer processors share only this header with the rest. It must stay free
/// of inline functions and templates: the linker keeps one copy of each, and could keep one that an
/// older processor cannot run.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::host {

/// One fold of elements of a built-in type, ready to compute.
struct Work {
  void* destination;             ///< May be one of the operands.
  const void* const* operands;   ///< One or more.
  std::size_t operand_count;     ///< Number of operands.
  std::size_t first;             ///< Index of the first element to compute.
  std::size_t end;               ///< Index behind the last one.
  int divisor;                   ///< Applied by floating-point kernels only, before rounding.
  const std::int8_t* exponents;  ///< As Fold::exponents, for averages of f16 and bf16; else null.
  int divisor_exponent;          ///< As Fold::divisor_exponent; read only with exponents.
};

/// Computes a fold from left to right.
using Kernel = void (*)(const Work& work);

/// Copies without overlap, as copy_bytes does. More than 64 bytes.
using CopyKernel = void (*)(void* to, const void* from, std::size_t bytes) noexcept;

/// The kernel of every operator for every datatype; null if the operator is not defined, and for
/// OperatorKind::user.
struct KernelTable {
  CopyKernel copy;                             ///< Copies bytes.
  Kernel kernels[kDatatypes][kOperatorKinds];  ///< By datatype and operator.
};

extern const KernelTable kBaselineKernels;  ///< For every processor of the architecture.
extern const KernelTable kAvx2Kernels;      ///< AVX2 and F16C. Only on x86-64.
extern const KernelTable kAvx512Kernels;    ///< AVX-512 F, BW, DQ and VL. Only on x86-64.

}  // namespace tutti::host
