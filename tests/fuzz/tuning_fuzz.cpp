// Tuning files of any bytes: each is read, or refused by an Error; what is read is written alike.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <tutti/error.hpp>

#include "selector/tuning.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::detail;
  try {
    const std::string text =
        text_of(tuning_of(std::string_view{reinterpret_cast<const char*>(data), size}));
    if (text_of(tuning_of(text)) != text) std::abort();
  } catch (const tutti::Error&) {
  }
  return 0;
}
