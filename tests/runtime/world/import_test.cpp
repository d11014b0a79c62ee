// Memory of programs that ranks see, in worlds of every kind.
#include <algorithm>
#include <optional>

#include <sys/mman.h>
#include <unistd.h>

#include "tests/runtime/worlds.hpp"

namespace tutti::test {
namespace {

constexpr std::size_t kElements = 300'000;

/// Elements in a file.
class Elements {
 public:
  Elements() {
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(kBytes)), 0);
    data_ = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    EXPECT_NE(data_, MAP_FAILED);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements() {
    munmap(data_, kBytes);
    close(file_);
  }
  [[nodiscard]] MappedFile mapped() const {
    return {.descriptor = file_, .memory = {static_cast<std::byte*>(data_), kBytes}};
  }
  [[nodiscard]] std::span<float> span() const { return {static_cast<float*>(data_), kElements}; }

 private:
  static constexpr std::size_t kBytes = kElements * sizeof(float);
  int file_ = memfd_create("test", MFD_CLOEXEC);
  void* data_ = nullptr;
};

void expect_sums(Communicator& world, std::span<float> data) {
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(world.rank() + static_cast<int>(i % 7));
  world.all_reduce(data, sum, {.visible = true});
  const int n = world.size();
  const auto expected = [n](std::size_t i) {
    return static_cast<float>(n * (n - 1) / 2 + n * static_cast<int>(i % 7));
  };
  for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(data[i], expected(i)) << i;
}

class Imported : public testing::TestWithParam<Setting> {
 protected:
  static void run(const std::function<void(Communicator&)>& body) {
    for (const Outcome& outcome : in_world(GetParam(), body))
      EXPECT_FALSE(outcome.error) << outcome.text();
  }
};

TEST_P(Imported, MemoryGivesTheRightSums) {
  run([](Communicator& world) {
    const Elements elements, others;
    for (int round = 0; round < 3; ++round) {
      const Buffer<std::byte> memory = import_memory(world, elements.mapped());
      EXPECT_EQ(memory.is_visible(), GetParam().transports != "tcp");
      EXPECT_EQ(memory.data(), elements.mapped().memory.data());
      expect_sums(world, elements.span());
      expect_sums(world, others.span());  // which is not imported
      world.barrier();
    }
    expect_sums(world, elements.span());
  });
}

TEST_P(Imported, MemoryIsSeenByGroupsToo) {
  run([](Communicator& world) {
    const Elements elements;
    const Buffer<std::byte> memory = import_memory(world, elements.mapped());
    Communicator part = world.split(world.rank() % 2);
    expect_sums(part, elements.span());
    const Elements more;
    const Buffer<std::byte> of_part = import_memory(part, more.mapped());
    expect_sums(part, more.span());
    expect_sums(world, more.span());  // ranks of other parts have not mapped it
    world.barrier();
  });
}

TEST_P(Imported, MemoryMayOutliveItsCommunicator) {
  run([](Communicator& world) {
    const Elements elements;
    std::optional<Buffer<std::byte>> memory;
    {
      Communicator same = world.duplicate({});
      memory = import_memory(same, elements.mapped());
    }
    expect_sums(world, elements.span());
    world.barrier();
  });
}

TEST_P(Imported, WrongArgumentsOfOneRankAreOneErrorOnAll) {
  run([](Communicator& world) {
    const Elements elements;
    MappedFile file = elements.mapped();
    const Rank last = world.size() - 1;
    if (world.rank() == last) file.descriptor = -1;
    const auto result = detail::attempt([&] { return import_memory(world, file); });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(result.error().culprit(), last);
    EXPECT_NE(std::string{result.error().what()}.find("rank " + std::to_string(last) +
                                                      " cannot import memory: descriptor -1"),
              std::string::npos)
        << result.error().what();
    expect_sums(world, elements.span());
  });
}

TEST_P(Imported, SizesMustBeEqual) {
  run([](Communicator& world) {
    const Elements elements;
    MappedFile file = elements.mapped();
    if (world.rank() == 1) file.memory = file.memory.first(4096);
    const auto result = detail::attempt([&] { return import_memory(world, file); });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string{result.error().what()}.find("rank 1 imports 4096 bytes"),
              std::string::npos)
        << result.error().what();
    expect_sums(world, elements.span());
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Imported,
                         testing::Values(Setting{2, "auto", 1}, Setting{4, "auto", 1},
                                         Setting{4, "auto", 2}, Setting{2, "tcp", 1}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
