/// @file
/// Memory of the host with a chosen instruction set, so that tests can compare them.
#pragma once

#include <memory>

#include <tutti/spi/memory.hpp>

#include "instruction_set.hpp"

namespace tutti::host {

/// @param set of the kernels. @return memory of the host. Throws Error if this processor does not
/// support the set.
[[nodiscard]] std::shared_ptr<Memory> make_host_memory(InstructionSet set);

}  // namespace tutti::host
