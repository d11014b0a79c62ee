#include "instruction_set.hpp"

#include <array>
#include <string>

#include <tutti/error.hpp>

#include "kernels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tutti::host {
namespace {

#if defined(__x86_64__)
// The compilers' own query also asks the operating system, but that of clang 14 lacks this flag.
bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && has_f16c();
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
}
#endif

InstructionSet find_widest() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (has_avx2() && has_avx512()) return InstructionSet::avx512;
  if (has_avx2()) return InstructionSet::avx2;
#endif
  return InstructionSet::baseline;
}

// Asks only once, since in a virtual machine the query takes microseconds.
InstructionSet widest() noexcept {
  static const InstructionSet set = find_widest();
  return set;
}

const KernelTable& table_of(InstructionSet set) noexcept {
#if defined(__x86_64__)
  if (set == InstructionSet::avx512) return kAvx512Kernels;
  if (set == InstructionSet::avx2) return kAvx2Kernels;
#endif
  return kBaselineKernels;
}

}  // namespace

std::string_view name_of(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::baseline: return "baseline";
    case InstructionSet::avx2: return "avx2";
    case InstructionSet::avx512: return "avx512";
  }
  return "unknown";
}

std::span<const InstructionSet> supported_instruction_sets() noexcept {
  static constexpr std::array kAll{InstructionSet::baseline, InstructionSet::avx2,
                                   InstructionSet::avx512};
  return std::span{kAll}.first(static_cast<std::size_t>(widest()) + 1);
}

const KernelTable& kernels_of(InstructionSet set) {
  if (set > widest())
    throw Error{ErrorCode::invalid_argument,
                "this processor lacks the instruction set '" + std::string{name_of(set)} +
                    "'; the widest it has is '" + std::string{name_of(widest())} + "'"};
  return table_of(set);
}

const KernelTable& widest_kernels() noexcept {
  static const KernelTable& kernels = table_of(widest());
  return kernels;
}

}  // namespace tutti::host
