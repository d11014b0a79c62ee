/// @file
/// Linked into a test executable, scarce_new.cpp replaces operator new by one that can fail.
#pragma once

#include <atomic>

namespace tutti::shm {

/// How many allocations succeed until one fails; less than zero: none does.
extern std::atomic<int> until_failure;

}  // namespace tutti::shm
