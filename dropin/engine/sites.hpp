/// @file
/// The places in a program's code from which it calls collectives.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>

namespace tutti::dropin {

/// A place in code.
struct Site {
  std::string module{};       ///< The file of the program or library; empty if it is unknown.
  std::uintptr_t offset = 0;  ///< Address within the call's instruction, as addr2line wants it.
  bool is_program = true;     ///< Whether it lies neither in an MPI's library nor in the engine.
};

/// The sites of a process. Thread-safe.
class Sites {
 public:
  /// @param caller the return address of a call. If it lies in a library of the MPI, as for
  /// programs in Fortran, the outer calls of this thread are searched for the program's.
  /// @return its site, which stays where it is.
  [[nodiscard]] const Site& of(const void* caller);

 private:
  [[nodiscard]] const Site& find(const void* caller);

  std::mutex mutex_{};
  std::unordered_map<const void*, Site> sites_{};
};

/// @return a name of each site: file and line, such as "main.c:12", if addr2line finds them; else
/// the module and the offset, such as "program+0x11f9". Runs addr2line once per module.
[[nodiscard]] std::map<const Site*, std::string> names_of(std::span<const Site* const> sites);

}  // namespace tutti::dropin
