/// @file
/// Threads of tutti.
#pragma once

#include <functional>
#include <thread>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// Starts a thread. Throws Error{transport} if the system or its container allows no further one.
[[nodiscard]] TUTTI_API std::thread start_thread(std::function<void()> body);

/// Starts a thread that handles no signals, since these are the program's. @param name at most 15
/// characters, for the system's tools. Throws as start_thread.
[[nodiscard]] TUTTI_API std::thread start_service_thread(const char* name,
                                                         std::function<void()> body);

}  // namespace tutti::v0
