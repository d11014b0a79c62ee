/// @file
/// Ranks as threads.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include <tutti/error.hpp>

namespace tutti::harness {

/// Runs a function on each rank, each in a thread. @param size ranks. @param body called with each.
/// @return what each threw, or nothing.
template <class Body>
std::vector<std::string> errors_of_ranks(int size, const Body& body) {
  std::vector<std::string> errors(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (Rank rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(rank);
      } catch (const Error& error) {
        errors[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace tutti::harness
