// Files for --load, of any bytes: each is read, or rejected by an Error. A schedule that is read is
// proved, or found to be wrong.
#include <cstddef>
#include <cstdint>
#include <string>

#include <tutti/error.hpp>

#include "schedules/written.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{reinterpret_cast<const char*>(data), size};
  try {
    const bool is_xml = text.find('<') < text.find('{');
    const tutti::WrittenSchedules written =
        is_xml ? tutti::read_msccl_schedules(text) : tutti::read_json_schedules(text);
    std::size_t slots = 0;
    for (const tutti::Schedule& schedule : written.schedules)
      slots += schedule.units() * (std::size_t{1} + schedule.planes());
    constexpr std::size_t kFewSlots =
        4096;  // a proof of many takes long, and is not what is sought
    if (slots <= kFewSlots) (void)tutti::written::proved_traits(written);
  } catch (const tutti::Error&) {
  }
  return 0;
}
