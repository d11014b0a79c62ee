// The functions of malloc, whose large blocks lie in memory that other ranks see once the engine
// has such memory. It is loaded into every process of a job, and needs the C library only.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <cerrno>

#include <tutti/export.hpp>

#include "dropin/interface.hpp"

// The C library's own. NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace tutti::dropin {
namespace {

/// The least bytes of a block in the heap: messages with fewer are copied anyway.
constexpr size_t kLeast = size_t{128} << 10;
constexpr size_t kPage = 4096;

const Heap* used = nullptr;

const Heap* heap() {
  return __atomic_load_n(&used, __ATOMIC_ACQUIRE);
}

const void* object_of(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

bool is_in_heap(const void* data) {
  const Heap* const own = heap();
  return own != nullptr && data >= own->begin && data < own->end;
}

size_t real_size_of(void* data) {
  using SizeOf = size_t(void*);
  static SizeOf* const find = reinterpret_cast<SizeOf*>(dlsym(RTLD_NEXT, "malloc_usable_size"));
  return find(data);
}

size_t size_of(void* data) {
  return is_in_heap(data) ? heap()->size_of(data) : real_size_of(data);
}

void* allocate(size_t bytes, size_t alignment) {
  const Heap* const own = bytes >= kLeast ? heap() : nullptr;
  return own == nullptr ? nullptr : own->allocate(bytes, alignment);
}

void* aligned(size_t alignment, size_t bytes) {
  void* const data = allocate(bytes, alignment);
  return data != nullptr ? data : __libc_memalign(alignment, bytes);
}

bool is_power_of_two(size_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

// A block that grows long moves to the heap; a long one of the C library stays where it is.
void* resize(void* data, size_t bytes) {
  const size_t before = size_of(data);
  const bool is_own = is_in_heap(data);
  if (is_own && bytes <= before && bytes >= before / 2) return data;
  if (!is_own && (bytes < kLeast || before >= kLeast || heap() == nullptr))
    return __libc_realloc(data, bytes);
  void* const to = malloc(bytes);
  if (to == nullptr) return nullptr;
  memcpy(to, data, before < bytes ? before : bytes);
  free(data);
  return to;
}

}  // namespace
}  // namespace tutti::dropin

extern "C" {

TUTTI_API bool tutti_heap_use(const tutti::dropin::Heap* heap) noexcept {
  using namespace tutti::dropin;
  if (heap->version != kVersion) return false;
  // Programs may bring their own malloc, whose blocks this library cannot resize.
  if (object_of(dlsym(RTLD_DEFAULT, "malloc")) != object_of(&used)) return false;
  __atomic_store_n(&used, heap, __ATOMIC_RELEASE);
  return true;
}

TUTTI_API void* malloc(size_t bytes) noexcept {
  void* const data = tutti::dropin::allocate(bytes, 1);
  return data != nullptr ? data : __libc_malloc(bytes);
}

TUTTI_API void* calloc(size_t count, size_t bytes) noexcept {
  size_t all = 0;
  const bool fits = !__builtin_mul_overflow(count, bytes, &all);
  const tutti::dropin::Heap* const heap = tutti::dropin::heap();
  if (heap != nullptr && fits && all >= tutti::dropin::kLeast)
    if (void* const data = heap->allocate_zeroed(all)) return data;
  return __libc_calloc(count, bytes);
}

TUTTI_API void free(void* data) noexcept {
  if (!tutti::dropin::is_in_heap(data)) return __libc_free(data);
  const int error = errno;
  tutti::dropin::heap()->deallocate(data);
  errno = error;
}

TUTTI_API void* realloc(void* data, size_t bytes) noexcept {
  if (data == nullptr) return malloc(bytes);
  if (bytes > 0) return tutti::dropin::resize(data, bytes);
  free(data);
  return nullptr;
}

TUTTI_API void* reallocarray(void* data, size_t count, size_t bytes) noexcept {
  size_t all = 0;
  if (!__builtin_mul_overflow(count, bytes, &all)) return realloc(data, all);
  errno = ENOMEM;
  return nullptr;
}

TUTTI_API void* memalign(size_t alignment, size_t bytes) noexcept {
  return tutti::dropin::aligned(alignment, bytes);
}

TUTTI_API void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  return tutti::dropin::aligned(alignment, bytes);
}

TUTTI_API void* valloc(size_t bytes) noexcept {
  return tutti::dropin::aligned(tutti::dropin::kPage, bytes);
}

TUTTI_API void* pvalloc(size_t bytes) noexcept {
  using tutti::dropin::kPage;
  return tutti::dropin::aligned(kPage, (bytes + kPage - 1) / kPage * kPage);
}

TUTTI_API int posix_memalign(void** data, size_t alignment, size_t bytes) noexcept {
  if (!tutti::dropin::is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* const made = tutti::dropin::aligned(alignment, bytes);
  errno = error;
  if (made == nullptr) return ENOMEM;
  *data = made;
  return 0;
}

TUTTI_API size_t malloc_usable_size(void* data) noexcept {
  return data == nullptr ? 0 : tutti::dropin::size_of(data);
}

}  // extern "C"
