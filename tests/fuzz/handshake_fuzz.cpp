// libFuzzer's way into the handshake: handshake_fuzz tests/fuzz/seeds/handshake -max_total_time=60
#include "handshake_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::fuzz::run_handshake({data, size});
  return 0;
}
