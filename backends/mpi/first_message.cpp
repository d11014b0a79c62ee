#include "first_message.hpp"

#include <cstring>

#include "check.hpp"

namespace tutti::v0::mpi {
namespace {

/// Mixes the number of bytes into the header, so that equal headers imply equal lengths.
Header header_of(std::uint64_t fingerprint, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  return (fingerprint ^ bytes * kGoldenRatio) << 1 | (bytes <= kInlineBytes ? 0 : kFollowed);
}

Announcement announcement_in(const std::byte* buffer) noexcept {
  Announcement announcement{};
  std::memcpy(&announcement, buffer + sizeof(Header), sizeof announcement);
  return announcement;
}

}  // namespace

std::size_t write_first(std::byte* buffer, const Transfer& transfer, std::uint64_t bytes,
                        PayloadTag tag) noexcept {
  const Header header = header_of(transfer.fingerprint, bytes);
  std::memcpy(buffer, &header, sizeof header);
  if (bytes <= kInlineBytes) {
    Cursor{transfer.pieces}.read(buffer + sizeof header, bytes);
    return sizeof header + bytes;
  }
  const Announcement announcement{bytes, tag};
  std::memcpy(buffer + sizeof header, &announcement, sizeof announcement);
  return sizeof header + sizeof announcement;
}

detail::Envelope envelope_of(const std::byte* buffer, const MPI_Status& status) {
  Header header = 0;
  std::memcpy(&header, buffer, sizeof header);
  int count = 0;
  check(PMPI_Get_count(&status, MPI_BYTE, &count), "count the bytes of a message");
  const std::uint64_t bytes = (header & kFollowed) != 0
                                  ? announcement_in(buffer).bytes
                                  : static_cast<std::uint64_t>(count) - sizeof header;
  return {.fingerprint = (header ^ header_of(0, bytes)) >> 1, .bytes = bytes};
}

PayloadTag payload_tag_of(const std::byte* buffer) noexcept {
  return announcement_in(buffer).tag;
}

void check_first(const std::byte* buffer, const MPI_Status& status, const Transfer& transfer,
                 std::uint64_t bytes) {
  Header header = 0;
  std::memcpy(&header, buffer, sizeof header);
  if (header == header_of(transfer.fingerprint, bytes)) return;
  throw detail::mismatch(transfer.peer, envelope_of(buffer, status),
                         {transfer.tag, transfer.fingerprint, bytes});
}

void unpack_first(const std::byte* buffer, const Transfer& transfer, std::uint64_t bytes) {
  const std::byte* const data = buffer + sizeof(Header);
  if (transfer.combiner == nullptr) Cursor{transfer.pieces}.write(data, bytes);
  else if (bytes > 0) transfer.combiner->combine({data, bytes});
}

}  // namespace tutti::v0::mpi
