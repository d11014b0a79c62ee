/// @file
/// Memory of a program outside the segments that other ranks of the host see.
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

/// Throws Error{invalid_argument} if a file is not mapped as import_memory needs it.
void check_mapped_file(const MappedFile& file);

/// A rank's file, by which other ranks map its memory.
struct ImportOffer {
  std::int64_t process;     ///< The process of the rank.
  std::int32_t descriptor;  ///< The file's descriptor in that process.
  std::uint64_t device;     ///< The file's device.
  std::uint64_t number;     ///< The file's number. Both show that `process` is the same one here.
  std::uint64_t begin;      ///< The offset of the memory in the file.
  std::uint64_t bytes;      ///< The bytes of the memory, whole pages.
  std::uint64_t offset;     ///< The offset in the rank's segment at which others map the file.
};

/// Memory of the program, and the memory of other ranks that was imported together with it. The
/// file is mapped over addresses of the segment that have no memory. So messages name imported
/// memory by offsets of the segment, as all visible memory.
class Import {
 public:
  /// Reserves addresses. Throws Error, and std::bad_alloc if the segment has no more addresses.
  /// @param file that check_mapped_file accepts.
  Import(std::shared_ptr<Domain> domain, const MappedFile& file);
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  /// Unmaps the memory of the other ranks, which must not use that of this rank any more.
  ~Import();

  [[nodiscard]] const ImportOffer& offer() const noexcept { return offer_; }
  /// Maps the memory of a rank, which may be this one. Throws Error{transport}.
  void map(const Domain::Member& member, const ImportOffer& offer);
  /// To be called when the ranks whose memory was mapped have mapped that of this rank.
  void publish() noexcept;

 private:
  std::shared_ptr<Domain> domain_;
  ImportOffer offer_{};
  Regions::Prepared region_;
  std::vector<std::pair<std::byte*, std::uint64_t>> views_{};
};

}  // namespace tutti::shm
