#include "gradient_kernels.hpp"

#include "instruction_set.hpp"

namespace tutti::host {

const GradientKernels& gradient_kernels_of(InstructionSet set) {
  static_cast<void>(kernels_of(set));  // throws if this processor lacks the set
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return kAvx512GradientKernels;
  if (set == InstructionSet::avx2) return kAvx2GradientKernels;
#endif
  return kBaselineGradientKernels;
}

}  // namespace tutti::host

const tutti::GradientKernels& tutti::gradient_kernels() {
  return host::gradient_kernels_of(host::supported_instruction_sets().back());
}
