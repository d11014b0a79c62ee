// Messages that are too long for the first MPI message, and what is combined.
#include <algorithm>
#include <cstring>

#include "check.hpp"
#include "transport.hpp"

namespace tutti::v0::mpi {
namespace {

// A combiner fails the transport by whatever it throws.
template <class Take>
void guard(Take take) {
  try {
    take();
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error{ErrorCode::aborted, std::string{"an exception ended a reduction: "} + error.what()};
  }
}

}  // namespace

void MpiTransport::unpack_first(const Transfer& transfer, const std::byte* data,
                                std::uint64_t bytes) {
  if (transfer.combiner == nullptr) Cursor{transfer.pieces}.write(data, bytes);
  else if (bytes > 0) guard([&] { transfer.combiner->combine({data, bytes}); });
}

void MpiTransport::post_payload(std::uint32_t index, PayloadTag tag) {
  Message& message = messages_[index];
  message.tag = tag;
  if (message.is_staged()) return post_staged(index);
  if (message.receive_buffer != nullptr)
    message.receive_buffer->start(message.transfer, message.bytes);
  else
    message.cutter =
        Cutter{message.transfer.pieces,
               message.transfer.reduced ? warm_bytes() : options_.chunk_bytes, scattered_};
  post_chunks(index);
}

// All at once, which for usual chunks is one.
void MpiTransport::post_staged(std::uint32_t index) {
  const Message& message = messages_[index];
  const Piece staged{message.buffer + kFirstBytes, message.bytes};
  if (message.transfer.kind == Transfer::Kind::send)
    Cursor{message.transfer.pieces}.read(staged.data, message.bytes);
  make_room(1 + message.bytes / options_.chunk_bytes);
  Cutter cutter{{&staged, 1}, options_.chunk_bytes, scattered_};
  while (cutter.more()) post_chunk(index, cutter.next(), 0);
}

void MpiTransport::post_chunks(std::uint32_t index) {
  Message& message = messages_[index];
  make_room(kWindow);
  if (ReceiveBuffer* const receive_buffer = message.receive_buffer; receive_buffer != nullptr) {
    while (receive_buffer->has_room()) {
      const unsigned half = receive_buffer->next_half();
      const Piece piece = receive_buffer->next();
      post_chunk(index, {piece.data, static_cast<int>(piece.bytes), MPI_BYTE}, half);
    }
  } else {
    while (message.remaining < kWindow && message.cutter.more())
      post_chunk(index, message.cutter.next(), 0);
  }
}

void MpiTransport::post_chunk(std::uint32_t index, Cutter::Chunk chunk, unsigned half) {
  const Message& message = messages_[index];
  const bool sends = message.transfer.kind == Transfer::Kind::send;
  const Rank peer = message.transfer.peer;
  MPI_Request request = MPI_REQUEST_NULL;
  check(sends ? PMPI_Isend(chunk.data, chunk.count, chunk.type, peer, message.tag, ranks_.comm,
                           &request)
              : PMPI_Irecv(chunk.data, chunk.count, chunk.type, peer, message.tag, ranks_.comm,
                           &request),
        message.transfer);
  add_request(request, {index, false, static_cast<std::uint8_t>(half)});
  if (chunk.type != MPI_BYTE) check(PMPI_Type_free(&chunk.type), "forget scattered bytes");
}

// A chunk has come or gone, so that another one may.
void MpiTransport::advance(Owner owner) {
  const Message& message = messages_[owner.message];
  if (message.receive_buffer != nullptr) guard([&] { message.receive_buffer->take(owner.half); });
  if (!message.is_staged()) post_chunks(owner.message);
}

}  // namespace tutti::v0::mpi
