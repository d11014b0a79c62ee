// The part of the drop-in that is loaded into every process, shells and launchers too: it needs the
// C library only. entries.s has the functions MPI_X and PMPI_X; each jumps to its target, which is
// found at its first call.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dropin/interface.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier): names of entries.s
extern "C" {
extern const char* const tutti_mpi_names[];  // "PMPI_Allreduce", by function
extern void* tutti_mpi_targets[];            // by function, first of MPI_X, then of PMPI_X
void* tutti_mpi_resolve(unsigned long entry, const void* caller);
}
// NOLINTEND

namespace tutti::dropin {
namespace {

constexpr unsigned kProfiling = 1;  // the P of PMPI_

pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
void* library = nullptr;  // of the MPI, where it is in no global scope
bool has_looked_for_engine = false;
Serve serve = nullptr;

const void* object_of(const void* address) {
  Dl_info info;
  return address != nullptr && dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

void* find(const char* name) noexcept {
  void* const address = dlsym(RTLD_NEXT, name);
  return address != nullptr || library == nullptr ? address : dlsym(library, name);
}

// Programs may load an MPI into a scope of their own, as Python loads mpi4py's. Then the object
// that calls knows the MPI.
void look_through(const void* caller) {
  Dl_info info;
  if (library != nullptr || dlsym(RTLD_NEXT, "PMPI_Init") != nullptr) return;
  if (dladdr(caller, &info) != 0) library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

const char* family() {
  if (find("ompi_mpi_comm_self") != nullptr) return "openmpi";
  int major = -1;
  int minor = -1;
  if (void* const version = find("MPI_Abi_get_version"))
    reinterpret_cast<int (*)(int*, int*)>(version)(&major, &minor);
  return major > 0 ? "standard" : "mpich";
}

// Engines lie beside the front.
void* open_engine() {
  Dl_info info;
  char path[4096];
  dladdr(reinterpret_cast<const void*>(&open_engine), &info);
  const char* const slash = strrchr(info.dli_fname, '/');
  const int folder = slash == nullptr ? 0 : static_cast<int>(slash - info.dli_fname + 1);
  const int length =
      snprintf(path, sizeof path, "%.*sengine-%s.so", folder, info.dli_fname, family());
  if (length < 0 || static_cast<unsigned>(length) >= sizeof path) return nullptr;
  // An engine looks for the objects of its MPI in the global scope.
  if (dlsym(RTLD_NEXT, "PMPI_Init") == nullptr && dladdr(find("PMPI_Init"), &info) != 0)
    dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void look_for_engine() {
  has_looked_for_engine = true;
  static const Front front{kVersion, find};
  void* const engine = open_engine();
  void* const start = engine == nullptr ? nullptr : dlsym(engine, kStartSymbol);
  if (start == nullptr) {
    fprintf(stderr, "tutti-mpi: %s; the MPI runs all collectives\n", dlerror());
    return;
  }
  serve = reinterpret_cast<Start>(start)(&front);
}

// A tool between the front and the MPI sees the program's calls, and its own calls come back as
// PMPI_X.
void* tool_below(const char* name, const void* real) {
  void* const next = dlsym(RTLD_NEXT, name + kProfiling);
  return next != nullptr && object_of(next) != object_of(real) ? next : nullptr;
}

void* target_of(unsigned long entry) {
  const char* const name = tutti_mpi_names[entry / 2];
  void* const real = find(name);
  if (entry % 2 != kProfiling)
    if (void* const tool = tool_below(name, real)) return tool;
  const void* const served = serve == nullptr ? nullptr : serve(name);
  return served == nullptr ? real : const_cast<void*>(served);
}

}  // namespace
}  // namespace tutti::dropin

void* tutti_mpi_resolve(unsigned long entry, const void* caller) {
  using namespace tutti::dropin;
  pthread_mutex_lock(&lock);
  look_through(caller);
  if (!has_looked_for_engine) look_for_engine();
  void* const target = target_of(entry);
  if (target == nullptr) {
    fprintf(stderr, "tutti-mpi: the MPI has no %s\n", tutti_mpi_names[entry / 2]);
    abort();
  }
  __atomic_store_n(&tutti_mpi_targets[entry], target, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
  return target;
}
