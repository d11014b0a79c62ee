/// @file
/// The front of the drop-in, which is preloaded into every process of a job, and its engines, of
/// which it loads one when the process calls an MPI. An engine fits one binary interface of MPIs.
#pragma once

namespace tutti::dropin {

/// A front loads engines of its own version only.
inline constexpr int kVersion = 2;

/// The services of the front for its engine.
struct Front {
  int version;  ///< kVersion.
  /// @param name of a function or object of the MPI, such as "PMPI_Send". @return its address in
  /// the MPI, not in the front nor in a profiling tool; null if the MPI lacks it.
  void* (*find)(const char* name) noexcept;
};

/// The name under which an engine exports a function of type Start.
inline constexpr const char* kStartSymbol = "tutti_mpi_engine";

/// Starts the engine. Called once. @return a function that finds what the engine has for a function
/// of the MPI, such as "PMPI_Send"; null where the MPI's own is to be called. Null instead
/// of the function: the engine does not fit.
using Serve = const void* (*)(const char* name) noexcept;
using Start = Serve (*)(const Front* front) noexcept;

/// Memory that other ranks see, for libtutti-heap.so, which is preloaded if a program's large
/// blocks of malloc are to lie there.
struct Heap {
  int version;                                                               ///< kVersion.
  void* (*allocate)(unsigned long bytes, unsigned long alignment) noexcept;  ///< Null: no room.
  void* (*allocate_zeroed)(unsigned long bytes) noexcept;                    ///< The same.
  void (*deallocate)(void* data) noexcept;
  unsigned long (*size_of)(const void* data) noexcept;
  const void* begin;  ///< The addresses of the memory.
  const void* end;
};

/// The name under which that library exports a function of type UseHeap.
inline constexpr const char* kHeapSymbol = "tutti_heap_use";

/// Takes large blocks from a heap from now on. It is called once at most, and the heap is never
/// destroyed. @return whether it will: false if malloc is another library's, or the version
/// differs.
using UseHeap = bool (*)(const Heap* heap) noexcept;

}  // namespace tutti::dropin
