/// @file
/// The instruction sets for which kernels are compiled, and those that this processor has.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tutti::host {

struct KernelTable;

/// Instruction sets from narrow to wide; each contains those before it. Only x86-64 has more than
/// the first.
enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

/// @return the name, such as "avx2".
[[nodiscard]] std::string_view name_of(InstructionSet set) noexcept;

/// @return the sets that this processor and operating system can run, from narrow to wide.
[[nodiscard]] std::span<const InstructionSet> supported_instruction_sets() noexcept;

/// @return the kernels of a set. Throws Error if this processor does not support it.
[[nodiscard]] const KernelTable& kernels_of(InstructionSet set);

/// @return the kernels of the widest set that this processor supports.
[[nodiscard]] const KernelTable& widest_kernels() noexcept;

}  // namespace tutti::host
