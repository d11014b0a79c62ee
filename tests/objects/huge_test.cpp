// Objects of more than 2^31 bytes over shared memory: where a size passed through an int, this
// would show.
#include <map>
#include <string>
#include <vector>

#include <tutti/cereal.hpp>
#include <tutti/objects.hpp>

#include "base/available_memory.hpp"
#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

using Columns = std::map<std::string, std::vector<std::uint32_t>>;

constexpr std::size_t kBytes = std::size_t{2200} << 20;

/// Both ranks are in this process, and each has an object and its bytes.
constexpr std::size_t kNeeded = 5 * kBytes;

/// @return three columns, of which no number stands in two places.
Columns huge_columns() {
  const std::size_t count = kBytes / sizeof(std::uint32_t) / 3 + 1;
  Columns columns;
  std::uint32_t next = 0;
  for (const char* const name : {"first", "second", "third"}) {
    std::vector<std::uint32_t>& column = columns[name];
    column.resize(count);
    for (std::uint32_t& number : column) number = next++;
  }
  return columns;
}

TEST(HugeObjects, AreBroadcast) {
  if (const std::size_t available = detail::available_memory(); available < kNeeded)
    GTEST_SKIP() << "this needs " << (kNeeded >> 20) << " MiB of memory, and " << (available >> 20)
                 << " MiB are available";
  const auto outcomes = in_world({2, "shm", 1}, [](Communicator& world) {
    const ObjectOptions options{.most_bytes = 2 * kBytes, .timeout = std::chrono::seconds{200}};
    Columns columns;
    if (world.rank() == 0) columns = huge_columns();
    columns = objects(world).broadcast(std::move(columns), 0, options);
    if (world.rank() == 0) return;
    ASSERT_EQ(columns.size(), 3U);
    std::uint32_t next = 0;
    std::size_t wrong = 0;
    for (const auto& [name, column] : columns)
      for (const std::uint32_t number : column) wrong += number != next++;
    EXPECT_EQ(wrong, 0U);
    EXPECT_GE(std::size_t{next} * sizeof next, kBytes);
  });
  expect_no_error(outcomes);
}

}  // namespace
}  // namespace tutti::test
