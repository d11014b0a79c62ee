/// @file
/// Which instruction sets the kernels are compiled for, and which of them this processor has.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tutti::host {

struct KernelTable;

/// From narrow to wide; each has what those before it have. On other architectures than x86-64 there is only the first.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

/// @param set any enumerator. @return its name, such as "avx2".
[[nodiscard]] std::string_view name_of(InstructionSet set) noexcept;

/// @return what this processor and operating system can run, from narrow to wide.
[[nodiscard]] std::span<const InstructionSet> supported_instruction_sets() noexcept;

/// @param set one that this processor supports. @return its kernels; throws Error for another one.
[[nodiscard]] const KernelTable& kernels_of(InstructionSet set);

/// @return the kernels of the widest set that this processor supports.
[[nodiscard]] const KernelTable& widest_kernels() noexcept;

}  // namespace tutti::host
