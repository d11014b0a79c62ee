#include "fold_work.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::inline v0::cuda {
namespace {

std::size_t offset_in_chunk(const void* place) noexcept {
  return reinterpret_cast<std::uintptr_t>(place) % kChunkBytes;
}

/// The least alignment of an element: that of its parts.
std::size_t alignment_of(Datatype type) noexcept {
  switch (type) {
    case Datatype::c32: return sizeof(float);
    case Datatype::c64: return sizeof(double);
    case Datatype::i32_index:
    case Datatype::f32_index: return sizeof(float);
    case Datatype::i64_index:
    case Datatype::f64_index: return sizeof(double);
    default: return size_of(type);
  }
}

/// Operands, then results.
std::vector<void*> places_of(const Fold& fold) {
  std::vector<void*> places;
  for (const void* const operand : fold.operands) places.push_back(const_cast<void*>(operand));
  places.push_back(fold.destination);
  places.insert(places.end(), fold.copies.begin(), fold.copies.end());
  for (const void* const place : places)
    if (reinterpret_cast<std::uintptr_t>(place) % alignment_of(fold.type) != 0)
      throw Error{ErrorCode::invalid_argument, "elements of " + std::string{name_of(fold.type)} +
                                                   " in memory of a GPU begin at multiples of " +
                                                   std::to_string(alignment_of(fold.type)) +
                                                   " bytes"};
  return places;
}

/// Finds the elements that can be loaded 16 bytes at a time: all places must agree on where those
/// begin.
void find_chunks(KernelWork& work, const std::vector<void*>& places, std::size_t element_bytes) {
  work.head = work.count;
  const std::size_t offset = offset_in_chunk(places.front());
  for (const void* const place : places)
    if (offset_in_chunk(place) != offset) return;
  const std::size_t bytes = (kChunkBytes - offset) % kChunkBytes;
  if (bytes % element_bytes != 0 || bytes / element_bytes >= work.count) return;
  work.head = bytes / element_bytes;
  work.chunks = (work.count - work.head) / (kChunkBytes / element_bytes);
}

}  // namespace

FoldWork work_of(const Fold& fold) {
  std::vector<void*> places = places_of(fold);
  KernelWork work{.op = static_cast<std::uint32_t>(fold.op->kind()),
                  .operands = static_cast<std::uint32_t>(fold.operands.size()),
                  .results = static_cast<std::uint32_t>(1 + fold.copies.size()),
                  .divisor = fold.divisor,
                  .count = fold.count};
  find_chunks(work, places, size_of(fold.type));
  if (places.size() <= kPassedPlaces) std::ranges::copy(places, std::begin(work.places));
  return {work, std::move(places)};
}

}  // namespace tutti::inline v0::cuda
