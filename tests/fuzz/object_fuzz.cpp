// libFuzzer's way into the decoder of objects: object_fuzz tests/fuzz/seeds/object
// -max_total_time=600 -malloc_limit_mb=64 -max_len=4096
#include "object_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::fuzz::run_object({data, size});
  return 0;
}
