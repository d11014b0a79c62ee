// For libFuzzer: any bytes as a header, and as what a peer sends over a link.
#include <cstdlib>

#include "backends/tcp/frame.hpp"
#include "tests/fuzz/tcp_conversation.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::span bytes{reinterpret_cast<const std::byte*>(data), size};
  const tutti::tcp::FrameLimits limits{.message = 2000, .data = 2500};
  const tutti::tcp::Decoded decoded = tutti::tcp::decode(bytes, limits);
  if (decoded.flaw == tutti::tcp::Flaw::none && decoded.header.payload() > limits.data)
    std::abort();
  tutti::fuzz::converse(bytes);
  tutti::fuzz::converse(tutti::fuzz::resealed(bytes));
  return 0;
}
