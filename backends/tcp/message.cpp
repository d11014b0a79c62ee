#include "message.hpp"

#include <cstring>
#include <utility>

#include "crc32c.hpp"

namespace tutti::tcp {

void Receive::store(std::span<const std::byte> from) {
  received += from.size();
  if (transfer.combiner == nullptr) cursor.write(from.data(), from.size());
  else if (!from.empty()) transfer.combiner->combine(from);
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
