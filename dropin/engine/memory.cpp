#include "dropin/engine/memory.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>

#include <tutti/error.hpp>

#include "dropin/engine/arena.hpp"
#include "dropin/engine/call.hpp"
#include "dropin/engine/mpi_functions.hpp"
#include "dropin/engine/report.hpp"
#include "dropin/engine/state.hpp"
#include "dropin/interface.hpp"
#include "runtime/launch/launch.hpp"
#include "runtime/links/process_links.hpp"

namespace tutti::dropin {
namespace {

/// The least bytes of a block of MPI_Alloc_mem that other ranks see: messages with fewer are copied
/// anyway, and a block has whole pages.
constexpr MPI_Aint kLeast = MPI_Aint{32} << 10;

std::atomic<Arena*> arena{nullptr};  // never destroyed: the program may free its memory at any time

// Only on one host: between hosts the MPI registers its memory with the network.
bool is_on_one_host(int size) {
  const runtime::Launch launch = runtime::detect_launch(runtime::process_environment());
  return launch.local_size == size;
}

void prepare_fork() noexcept {
  constexpr std::size_t kMany = std::size_t{64} << 20;
  if (arena.load()->bytes_in_use() > kMany)
    warn_here(
        "a fork copies all shared memory of this rank, which takes time; posix_spawn does not");
  arena.load()->before_fork();
}

void watch_forks() {
  pthread_atfork(
      prepare_fork, [] { arena.load()->after_fork_in_parent(); },
      [] { arena.load()->after_fork_in_child(); });
}

void make_arena() noexcept try {
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 1 || !is_on_one_host(size)) return;
  arena.store(new Arena{runtime::ProcessLinks::early_segment(size)});
  watch_forks();
} catch (const std::exception& error) {
  warn_once(std::string{"no memory is shared: "} + error.what());
}

// Made at the first use, since most programs never ask for such memory.
Arena* find_or_make_arena() noexcept {
  static std::once_flag is_made;
  std::call_once(is_made, make_arena);
  return arena.load();
}

int alloc_mem(MPI_Aint bytes, Info info, void* base) {
  const bool is_served = base != nullptr && bytes >= kLeast && has_world() &&
                         !is_from_the_mpi(__builtin_return_address(0));
  Arena* const own = is_served ? find_or_make_arena() : nullptr;
  void* const data = own == nullptr ? nullptr : own->allocate(static_cast<std::size_t>(bytes), 1);
  if (data == nullptr) {
    using Function = int(MPI_Aint, Info, void*);
    static auto* const function = reinterpret_cast<Function*>(find_in_mpi("PMPI_Alloc_mem"));
    return function(bytes, info, base);
  }
  std::memcpy(base, &data, sizeof data);
  return MPI_SUCCESS;
}

int free_mem(void* data) {
  if (!is_shared(data)) {
    static auto* const function = reinterpret_cast<int (*)(void*)>(find_in_mpi("PMPI_Free_mem"));
    return function(data);
  }
  arena.load()->deallocate(data);
  return MPI_SUCCESS;
}

std::string first_line_of(const char* path) {
  std::string line;
  std::getline(std::ifstream{path}, line);
  return line;
}

bool has_symbol(const char* name) {
  return dlsym(RTLD_DEFAULT, name) != nullptr;
}

// @return why malloc should keep its own memory, or null.
const char* reason_against_heap() {
  rlimit limit{};
  if (has_symbol("__asan_init") || has_symbol("__tsan_init") || has_symbol("__msan_init"))
    return "a sanitizer watches the program's memory";
  if (first_line_of("/proc/sys/vm/overcommit_memory") == "2")
    return "the system promises memory strictly (vm.overcommit_memory is 2)";
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    return "the address space is limited (ulimit -v)";
  const std::string pages = "/sys/kernel/mm/transparent_hugepage/";
  if (first_line_of((pages + "enabled").c_str()).find("[always]") != std::string::npos &&
      first_line_of((pages + "shmem_enabled").c_str()).find("[never]") != std::string::npos)
    return "the system has huge pages for private memory only "
           "(/sys/kernel/mm/transparent_hugepage/shmem_enabled is never)";
  if (!has_symbol(kHeapSymbol)) return "libtutti-heap.so is not preloaded, as tutti exec does";
  return nullptr;
}

const char* use_heap() {
  if (const char* const reason = reason_against_heap()) return reason;
  Arena* const own = find_or_make_arena();
  if (own == nullptr) return "the ranks are not known to be on one host";
  static const Heap heap{
      .version = kVersion,
      .allocate =
          [](unsigned long bytes, unsigned long alignment) noexcept {
            return arena.load()->allocate(bytes, alignment);
          },
      .allocate_zeroed =
          [](unsigned long bytes) noexcept { return arena.load()->allocate_zeroed(bytes); },
      .deallocate = [](void* data) noexcept { arena.load()->deallocate(data); },
      .size_of = [](const void* data) noexcept { return arena.load()->size_of(data); },
      .begin = own->begin(),
      .end = own->end()};
  const auto use = reinterpret_cast<UseHeap>(dlsym(RTLD_DEFAULT, kHeapSymbol));
  return use(&heap) ? nullptr : "the program has its own malloc";
}

}  // namespace

void prepare_memory() noexcept {
  if (!wants_shared_heap()) return;
  if (const char* const reason = use_heap())
    warn_once(std::string{"malloc keeps its own memory: "} + reason);
}

bool is_shared(const void* data) noexcept {
  const Arena* const own = arena.load(std::memory_order_relaxed);
  return own != nullptr && own->holds(data);
}

const void* find_memory_function(std::string_view name) noexcept {
  if (name == "Alloc_mem") return reinterpret_cast<const void*>(&alloc_mem);
  if (name == "Free_mem") return reinterpret_cast<const void*>(&free_mem);
  return nullptr;
}

}  // namespace tutti::dropin
