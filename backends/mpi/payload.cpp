#include "payload.hpp"

#include <algorithm>

#include "first_message.hpp"

namespace tutti::v0::mpi {

void Payloads::begin(PostedTransfer& message, PayloadTag tag) {
  message.tag = tag;
  if (message.is_staged()) return post_staged(message);
  if (message.receive_buffer != nullptr)
    message.receive_buffer->start(message.transfer, message.bytes);
  else
    message.cutter =
        Cutter{message.transfer.pieces,
               message.transfer.reduced ? warm_bytes(chunk_bytes_) : chunk_bytes_, scattered_};
  post_chunks(message);
}

// Posts all chunks at once; with the usual chunk size this is one.
void Payloads::post_staged(PostedTransfer& message) {
  const Piece staged{message.buffer + kFirstBytes, message.bytes};
  if (message.is_send()) Cursor{message.transfer.pieces}.read(staged.data, message.bytes);
  requests_.make_room(1 + message.bytes / chunk_bytes_);
  Cutter cutter{{&staged, 1}, chunk_bytes_, scattered_};
  while (cutter.more()) post_chunk(message, cutter.next(), 0);
}

void Payloads::post_chunks(PostedTransfer& message) {
  requests_.make_room(kWindow);
  if (ReceiveBuffer* const buffer = message.receive_buffer; buffer != nullptr) {
    while (buffer->has_room()) {
      const unsigned half = buffer->next_half();
      const Piece piece = buffer->next();
      post_chunk(message, {piece.data, static_cast<int>(piece.bytes), MPI_BYTE}, half);
    }
  } else {
    while (message.remaining < kWindow && message.cutter.more())
      post_chunk(message, message.cutter.next(), 0);
  }
}

void Payloads::post_chunk(PostedTransfer& message, Cutter::Chunk chunk, unsigned half) {
  const Rank peer = message.transfer.peer;
  MPI_Request request = MPI_REQUEST_NULL;
  check(message.is_send() ? PMPI_Isend(chunk.data, chunk.count, chunk.type, peer, message.tag,
                                       ranks_.comm, &request)
                          : PMPI_Irecv(chunk.data, chunk.count, chunk.type, peer, message.tag,
                                       ranks_.comm, &request),
        message.transfer);
  requests_.add(request, {&message, false, static_cast<std::uint8_t>(half)});
  if (chunk.type != MPI_BYTE) check(PMPI_Type_free(&chunk.type), "forget scattered bytes");
}

void Payloads::advance(Owner owner) {
  PostedTransfer& message = *owner.message;
  if (message.receive_buffer != nullptr)
    guard(ranks_.self, [&] { message.receive_buffer->combine(owner.half); });
  if (!message.is_staged()) post_chunks(message);
}

void Payloads::unpack(const PostedTransfer& message) {
  if (message.is_staged())
    Cursor{message.transfer.pieces}.write(message.buffer + kFirstBytes, message.bytes);
}

}  // namespace tutti::v0::mpi
