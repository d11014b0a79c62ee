/// @file
/// Memory of a program that other ranks of the host see beside the segments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tutti/import_memory.hpp>

#include "domain.hpp"

namespace tutti::shm {

/// Throws Error{invalid_argument} where a file is not mapped as import_memory needs it.
void check_mapped_file(const MappedFile& file);

/// A rank's file, by which other ranks map its memory.
struct ImportOffer {
  std::int64_t process;     ///< Of the rank.
  std::int32_t descriptor;  ///< Of the file, there.
  std::uint64_t device;     ///< Of the file, as the next.
  std::uint64_t number;     ///< It shows that `process` is the same process here.
  std::uint64_t begin;      ///< Of the memory, in the file.
  std::uint64_t bytes;      ///< Whole pages.
  std::uint64_t offset;     ///< In the segment of the rank: other ranks map the file there.
};

/// Memory of the program, and that of the other ranks which was imported together with it. The file
/// replaces addresses of the segment that have no memory: messages name imported memory by offsets
/// of the segment, as all visible memory.
class Import {
 public:
  /// Reserves addresses. Throws Error, and std::bad_alloc if the segment has no more addresses.
  /// @param file that check_mapped_file accepts.
  Import(std::shared_ptr<Domain> domain, const MappedFile& file);
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  /// Unmaps the memory of the others, which must not need that of this rank any more.
  ~Import();

  [[nodiscard]] const ImportOffer& offer() const noexcept { return offer_; }
  /// Maps the memory of a rank. Throws Error{transport}. @param member the rank, or this one.
  void map(const Domain::Member& member, const ImportOffer& offer);
  /// The ranks whose memory was mapped have mapped that of this rank.
  void publish() noexcept;

 private:
  std::shared_ptr<Domain> domain_;
  ImportOffer offer_{};
  Regions::Prepared region_;
  std::vector<std::pair<std::byte*, std::uint64_t>> views_{};
};

}  // namespace tutti::shm
