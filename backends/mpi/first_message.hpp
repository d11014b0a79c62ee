/// @file
/// The first MPI message of a transfer: the header, and the payload or its announcement.
#pragma once

#include "base/matching.hpp"
#include "message.hpp"

namespace tutti::v0::mpi {

/// Writes a first message. @param buffer of the pool. @param transfer a send. @param bytes of the
/// transfer. @param tag of its payload, if that does not fit. @return the bytes of the MPI message.
[[nodiscard]] std::size_t write_first(std::byte* buffer, const Transfer& transfer,
                                      std::uint64_t bytes, PayloadTag tag) noexcept;
/// @param buffer with a first message. @param status of its receive. @return its envelope without
/// the tag. Throws Error.
[[nodiscard]] detail::Envelope envelope_of(const std::byte* buffer, const MPI_Status& status);
/// @param buffer with a first message whose payload does not fit. @return the tag of the payload.
[[nodiscard]] PayloadTag payload_tag_of(const std::byte* buffer) noexcept;
/// Checks that a first message matches a receive. @param buffer and @param status as of
/// envelope_of. @param bytes of the transfer. Throws Error{mismatch}.
void check_first(const std::byte* buffer, const MPI_Status& status, const Transfer& transfer,
                 std::uint64_t bytes);
/// Stores or combines the payload of a first message. @param transfer the receive. @param bytes of
/// the transfer. Throws as the combiner.
void unpack_first(const std::byte* buffer, const Transfer& transfer, std::uint64_t bytes);

/// Runs a function that calls a combiner. Any exception of it becomes an Error, which fails the
/// transport. @param self the own rank.
template <class Combine>
void guard(Rank self, Combine combine) {
  const auto failed = [self](const std::string& exception, const std::string& why) {
    return Error{ErrorCode::aborted,
                 exception + " ended the operation on rank " + std::to_string(self) + why, self};
  };
  try {
    combine();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw failed("an exception", std::string{": "} + error.what());
  } catch (...) {
    throw failed("an exception of unknown type", "");
  }
}

}  // namespace tutti::v0::mpi
