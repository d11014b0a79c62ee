// libFuzzer's way into the handshake.
#include "handshake_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::fuzz::run_handshake({data, size});
  return 0;
}
