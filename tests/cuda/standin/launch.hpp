/// @file
/// A kernel's run on the host: all its threads, one after the other, if all it touches is the
/// device's own memory or pinned.
#pragma once

#include <string_view>

#include "tests/cuda/standin/memory.hpp"
#include "tests/cuda/standin/module.hpp"

namespace tutti::standin {

/// @param name of a kernel. @return it; nothing where there is none.
Function function_of(std::string_view name);

}  // namespace tutti::standin
