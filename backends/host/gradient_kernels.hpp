/// @file
/// The tables of GradientKernels, one per instruction set, filled from one source. As kernels.hpp,
/// this header must stay free of inline functions and templates.
#pragma once

#include <cstdint>

#include <tutti/spi/gradient_kernels.hpp>

namespace tutti::host {

enum class InstructionSet : std::uint8_t;  // instruction_set.hpp

extern const GradientKernels kBaselineGradientKernels;  ///< As kBaselineKernels.
extern const GradientKernels kAvx2GradientKernels;      ///< As kAvx2Kernels. Only on x86-64.
extern const GradientKernels kAvx512GradientKernels;    ///< As kAvx512Kernels. Only on x86-64.

/// @return the kernels of a set. Throws Error if this processor does not support it.
[[nodiscard]] const GradientKernels& gradient_kernels_of(InstructionSet set);

}  // namespace tutti::host
