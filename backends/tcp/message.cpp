#include "message.hpp"

#include <cstring>
#include <utility>

#include "crc32c.hpp"

namespace tutti::tcp {

void Receive::reset() noexcept {
  std::vector<std::byte> kept = std::move(carried);
  kept.clear();
  *this = {};
  carried = std::move(kept);
}

void Receive::take(std::span<const std::byte> from, const Buffer& warm) {
  if (transfer.sink == nullptr) {
    received += from.size();
    cursor.write(from.data(), from.size());
    return;
  }
  while (!from.empty()) {
    const std::span<std::byte> to = room(warm);
    const std::size_t run = std::min(to.size(), from.size());
    std::memcpy(to.data(), from.data(), run);
    from = from.subspan(run);
    take_warm(warm, run);
  }
}

std::span<std::byte> Receive::room(const Buffer& warm) const {
  return {warm.data() + carried.size(), warm.size() - carried.size()};
}

void Receive::take_warm(const Buffer& warm, std::size_t added) {
  if (!carried.empty()) std::memcpy(warm.data(), carried.data(), carried.size());
  const std::uint64_t before = received - carried.size();
  const std::size_t there = carried.size() + added;
  received += added;
  const std::size_t whole = received == bytes ? there : there - there % transfer.grain;
  carried.assign(warm.data() + whole, warm.data() + there);
  if (whole > 0) transfer.sink->take(before, {warm.data(), whole});
}

void Outbound::reset() noexcept {
  std::vector<std::byte> kept = std::move(rest);
  *this = {};
  rest = std::move(kept);
}

void Outbound::seal_frame(bool summed) {
  header_left = sizeof(Header);
  frame_left = header.payload();
  header.flags = summed && frame_left > 0 ? kPayloadSummed : std::uint16_t{0};
  header.payload_sum = 0;
  if (header.flags == kPayloadSummed) {
    Cursor ahead = cursor;
    ahead.pass(frame_left, [this](std::span<const std::byte> run) {
      header.payload_sum = crc32c(header.payload_sum, run);
    });
  }
  seal(header);
  sealed = true;
}

void Outbound::detach() {
  rest.resize(frame_left);
  cursor.read(rest.data(), frame_left);
  rest_piece = {rest.data(), rest.size()};
  cursor = Cursor{std::span{&rest_piece, 1}};
  port = nullptr;
}

}  // namespace tutti::tcp
