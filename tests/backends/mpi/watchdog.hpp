/// @file
/// Names a hanging test and ends the process, so that the launcher ends the job.
#pragma once

#include <chrono>

namespace tutti::test {

/// Starts a thread that ends the process with exit status 3 if one test runs for too long.
/// @param patience how long a test may take.
void start_watchdog(std::chrono::seconds patience);

/// Tells the watchdog that a test starts or ends. @param name of the test, or "" between tests.
void watch(const char* name);

/// Calls what is left after MPI_Finalize. @return how many checks failed.
int check_after_finalize();

}  // namespace tutti::test
