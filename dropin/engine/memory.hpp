/// @file
/// MPI_Alloc_mem and MPI_Free_mem, by memory that the other ranks of the host see.
#pragma once

#include <string_view>

namespace tutti::dropin {

/// To be called once, when the MPI is initialised.
void prepare_memory() noexcept;

/// @return whether other ranks of the host see memory of the program.
[[nodiscard]] bool is_shared(const void* data) noexcept;

/// @param name without MPI_. @return the engine's function of that name, or null.
[[nodiscard]] const void* find_memory_function(std::string_view name) noexcept;

}  // namespace tutti::dropin
