// Networks of any bytes, as a file and as a line: each is read, or refused by an Error.
#include <cstddef>
#include <cstdint>
#include <string>

#include <tutti/error.hpp>

#include "topology/families.hpp"
#include "topology/read.hpp"

namespace {

/// Large ones take long, and are not what is sought.
bool has_large_numbers(const std::string& text) {
  std::size_t digits = 0, numbers = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    numbers += digits == 1 ? 1 : 0;
    if (digits > 2 || numbers > 4) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  const auto read = [](const auto& reader) {
    try {
      (void)reader();
    } catch (const tutti::Error&) {
    }
  };
  read([&] { return tutti::read_json_topology(text); });
  read([&] { return tutti::read_slurm_topology(text); });
  if (!has_large_numbers(text)) read([&] { return tutti::parse_topology(text); });
  return 0;
}
