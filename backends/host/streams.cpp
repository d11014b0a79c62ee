#include "streams.hpp"

#include <algorithm>

#include <tutti/spi/copy.hpp>
#include <tutti/spi/streaming.hpp>

namespace tutti::v0 {

void stream(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  const std::size_t to_line = -reinterpret_cast<std::uintptr_t>(to) % host::kLine;
  const std::size_t head = std::min(bytes, to_line);
  copy_bytes(to, from, head);
  std::size_t at = head;
  for (; bytes - at >= host::kLine; at += host::kLine) host::stream_line(to + at, from + at);
  copy_bytes(to + at, from + at, bytes - at);
}

void end_streams() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace tutti::v0
