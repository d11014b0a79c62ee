#include "fold_work.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::v0::cuda {
namespace {

/// Operands, then results.
std::vector<void*> places_of(const Fold& fold) {
  std::vector<void*> places;
  for (const void* const operand : fold.operands) places.push_back(const_cast<void*>(operand));
  places.push_back(fold.destination);
  places.insert(places.end(), fold.copies.begin(), fold.copies.end());
  for (const void* const place : places)  // of those that are not known none is wrong
    if (reinterpret_cast<std::uintptr_t>(place) % traits_of(fold.type).alignment != 0)
      throw Error{ErrorCode::invalid_argument, "elements of " + std::string{name_of(fold.type)} +
                                                   " in memory of a GPU begin at multiples of " +
                                                   std::to_string(traits_of(fold.type).alignment) +
                                                   " bytes"};
  return places;
}

}  // namespace

FoldWork work_of(const Fold& fold) {
  std::vector<void*> places = places_of(fold);
  KernelWork work{.op = static_cast<std::uint32_t>(fold.op->kind()),
                  .operands = static_cast<std::uint32_t>(fold.operands.size()),
                  .results = static_cast<std::uint32_t>(1 + fold.copies.size()),
                  .divisor = fold.divisor,
                  .count = fold.count,
                  .divisor_exponent = fold.divisor_exponent,
                  .has_exponents = !fold.exponents.empty()};
  KernelWork told = work;
  told.table = places.data();
  const Chunks chunks = chunks_of(told, size_of(fold.type));
  work.head = chunks.head;
  work.chunks = chunks.chunks;
  if (places.size() <= kPassedPlaces) {
    std::ranges::copy(places, std::begin(work.places));
    std::ranges::copy(fold.exponents, std::begin(work.exponents));
  } else {
    for (const std::int8_t exponent : fold.exponents)
      places.push_back(reinterpret_cast<void*>(std::intptr_t{exponent}));
  }
  return {work, std::move(places)};
}

void put_peers(KernelWork& work, std::span<const PeerPlace> peers) {
  for (const auto& [operand, cell, offset] : peers) {
    expects(operand < std::min<std::size_t>(kPeerPlaces, work.operands),
            "a kernel knows of so many operands where their addresses stand");
    work.peers |= 1U << operand;
    work.places[operand] = cell;
    work.offsets[operand] = offset;
  }
  if (work.peers != 0) work.head = work.count;  // the device finds out
  if (work.peers != 0) work.chunks = 0;
}

}  // namespace tutti::v0::cuda
