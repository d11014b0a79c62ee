/// @file
/// Flags by which a program interrupts the calls of a thread.
#pragma once

#include <atomic>
#include <cstdint>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// A flag of a program, which a signal handler or another thread may set; null: none.
using InterruptFlag = const volatile std::int32_t*;

/// From now on a flag interrupts the calls of this thread that wait for other ranks, init included:
/// while it is not zero, such a call throws Error{aborted} within some milliseconds, and its
/// communicator fails. @param flag lives until it is replaced.
TUTTI_API void interrupt_by(InterruptFlag flag) noexcept;
/// Lets the flag of another thread, which waits for this one, interrupt this thread from now on.
/// @param lender that flag; it may change, and outlives this thread.
TUTTI_API void borrow_interrupt(const std::atomic<InterruptFlag>& lender) noexcept;

/// @return the flag of this thread.
[[nodiscard]] TUTTI_API InterruptFlag interrupt_flag() noexcept;
/// @return whether this thread has a flag that is set.
[[nodiscard]] TUTTI_API bool is_interrupted() noexcept;

}  // namespace tutti::v0
