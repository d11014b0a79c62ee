// One array per host: what a rank writes others read, and nothing is left of it.
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <string>

#include <tutti/training.hpp>

#include "tests/overlap/gradients.hpp"

namespace tutti::test {
namespace {

class SharedArrays : public testing::TestWithParam<Setting> {};

template <class Function>
std::string refused(ErrorCode code, Function function) {
  try {
    function();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "nothing was thrown";
}

constexpr std::string_view kName = "tutti_shared_array";

/// How often memory of shared arrays is mapped in this process.
int mappings() {
  std::ifstream maps{"/proc/self/maps"};
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find(kName) != std::string::npos) ++count;
  return count;
}

/// How many descriptors of such memory are open in this process.
int descriptors() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    std::error_code closed_meanwhile;
    if (std::filesystem::read_symlink(entry, closed_meanwhile).string().find(kName) !=
        std::string::npos)
      ++count;
  }
  return count;
}

/// The files of such memory, of any process.
std::set<std::string> names_of_shared_arrays() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{"/dev/shm"})
    if (const std::string name = entry.path().filename(); name.find(kName) != std::string::npos)
      names.insert(name);
  return names;
}

TEST_P(SharedArrays, AreOneOnAHost) {
  train(GetParam(), [](Communicator& world) {
    for (const std::size_t count : {1U, 1000U, 300'000U}) {
      SharedArray<std::uint32_t> array{world, count};
      ASSERT_EQ(array.size(), count);
      EXPECT_EQ(array.owner(), 0);
      EXPECT_EQ(array.is_owner(), world.rank() == 0);
      for (const std::uint32_t element : array) ASSERT_EQ(element, 0U);
      world.barrier();
      for (Rank writer = 0; writer < world.size(); ++writer) {
        const auto first = static_cast<std::uint32_t>(writer + 1);
        if (world.rank() == writer) std::iota(array.begin(), array.end(), first);
        world.barrier();
        const std::span<const std::uint32_t> seen = std::as_const(array).span();
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(seen[i], first + i);
        world.barrier();
      }
    }
  });
}

TEST_P(SharedArrays, OutliveTheirWorldAndMove) {
  std::vector<SharedArray<double>> kept(static_cast<std::size_t>(GetParam().n));
  train(GetParam(), [&](Communicator& world) {
    SharedArray<double> array{world, 10};
    once_per_node(world, "fill", [&] { std::ranges::fill(array.span(), 2.5); });
    SharedArray<double>& place = kept[static_cast<std::size_t>(world.rank())];
    place = SharedArray<double>{world, 3};
    place = std::move(array);
  });
  for (const SharedArray<double>& array : kept) {
    EXPECT_EQ(array.size(), 10U);
    EXPECT_EQ(std::accumulate(array.begin(), array.end(), 0.0), 25);
  }
  kept[0][4] = 7;
  EXPECT_EQ(kept.back()[4], 7);
}

TEST_P(SharedArrays, MayBeEmpty) {
  SharedArray<char> none;
  EXPECT_EQ(none.owner(), -1);
  EXPECT_TRUE(none.span().empty());
  train(GetParam(), [](Communicator& world) {
    const SharedArray<char> array{world, 0};
    EXPECT_EQ(array.size(), 0U);
    EXPECT_EQ(array.data(), nullptr);
    EXPECT_EQ(array.is_owner(), world.rank() == 0);
  });
}

TEST_P(SharedArrays, HaveNoNameAndLeaveNothing) {
  train(GetParam(), [](Communicator& world) {
    {
      const SharedArray<int> one{world, 5000}, other{world, 1};
      world.barrier();
      EXPECT_EQ(mappings(), 2 * world.size());
      EXPECT_EQ(descriptors(), 0);
      EXPECT_EQ(names_of_shared_arrays(),
                std::set<std::string>{});  // so none is left where a process dies
      world.barrier();
    }
    world.barrier();
    EXPECT_EQ(mappings(), 0);
    world.barrier();
  });
}

TEST_P(SharedArrays, RefuseWhatDiffersAndWhatIsTooLarge) {
  train(GetParam(), [](Communicator& world) {
    const bool is_last = world.rank() == world.size() - 1;
    for (const std::size_t count : {std::size_t{1} << 45, ~std::size_t{0} / 2, ~std::size_t{0}}) {
      const std::string large = refused(ErrorCode::transport, [&] {
        SharedArray<double>{world, count};
      });
      EXPECT_NE(large.find("rank 0 cannot allocate " + std::to_string(count) + " elements"),
                std::string::npos)
          << large;
    }
    if (world.size() == 1) return;
    const std::string last = "rank " + std::to_string(world.size() - 1);
    const std::string counts = refused(ErrorCode::invalid_argument, [&] {
      SharedArray<int>{world, is_last ? 4U : 0U};
    });
    EXPECT_NE(counts.find(last + " wants 4 elements of 4 bytes, rank 0 0 elements"),
              std::string::npos)
        << counts;
    const std::string sizes = refused(ErrorCode::invalid_argument, [&] {
      if (is_last) SharedArray<char>{world, 4};
      else SharedArray<int>{world, 4};
    });
    EXPECT_NE(sizes.find(last + " wants 4 elements of 1 bytes"), std::string::npos) << sizes;
    const SharedArray<int> usable{world, 4};
    EXPECT_EQ(usable.size(), 4U);
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, SharedArrays,
                         testing::Values(Setting{1, "auto", 1}, Setting{3, "auto", 1},
                                         Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
