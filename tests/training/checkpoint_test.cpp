// A checkpoint is found whole or not at all.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include <tutti/training.hpp>

#include "tests/overlap/gradients.hpp"
#include "tests/support/limits.hpp"
#include "tests/support/temporary_folder.hpp"

namespace tutti::test {
namespace {

namespace fs = std::filesystem;

class Checkpoints : public testing::TestWithParam<Setting> {
 protected:
  [[nodiscard]] fs::path file() const { return folder_ / "model"; }
  [[nodiscard]] const fs::path& folder() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

/// The saved state of a program. A test changes some of it.
struct Contents {
  std::vector<float> weights = std::vector<float>(300);
  std::vector<double> moments = std::vector<double>(77);
  std::vector<std::int64_t> steps = std::vector<std::int64_t>(3);
  std::vector<float> none{};

  [[nodiscard]] std::vector<Parameter> arrays() {
    return {Parameter::of("weights", weights), Parameter::of("none", none),
            Parameter::of("moments", moments), Parameter::of("steps", steps)};
  }
  static Contents of(int version) {
    Contents contents;
    std::iota(contents.weights.begin(), contents.weights.end(), static_cast<float>(version));
    std::iota(contents.moments.begin(), contents.moments.end(), version * 1.5);
    std::iota(contents.steps.begin(), contents.steps.end(), version);
    return contents;
  }
  friend bool operator==(const Contents&, const Contents&) = default;
};

std::vector<std::byte> extra_of(int version) {
  return {std::byte{1}, std::byte{2}, static_cast<std::byte>(version)};
}

void save(Communicator& world, const fs::path& path, int version) {
  Contents contents = Contents::of(world.rank() == 0 ? version : -1);
  save_checkpoint(world, path, contents.arrays(),
                  world.rank() == 0 ? extra_of(version) : std::vector<std::byte>{});
}

void expect_saved(Communicator& world, const fs::path& path, int version) {
  Contents contents;
  const std::vector<std::byte> extra = load_checkpoint(world, path, contents.arrays());
  EXPECT_EQ(contents, Contents::of(version));
  EXPECT_EQ(extra, extra_of(version));
}

/// @return what loading throws, after which all is as it was.
std::string refusal(Communicator& world, const fs::path& path, Contents contents = {},
                    std::vector<Parameter> arrays = {}) {
  if (arrays.empty()) arrays = contents.arrays();
  const Contents before = contents;
  try {
    (void)load_checkpoint(world, path, arrays);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
    EXPECT_EQ(contents, before);
    return error.what();
  }
  ADD_FAILURE() << "it was loaded";
  return {};
}

std::string read_all(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

void write_all(const fs::path& path, const std::string& bytes) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << bytes;
}

TEST_P(Checkpoints, GiveAllRanksWhatWasSaved) {
  train(GetParam(), [&](Communicator& world) {
    for (const int version : {1, 2}) {
      save(world, file(), version);
      expect_saved(world, file(), version);
    }
  });
  for (const int ranks : {1, 2, 5})  // at another number of ranks
    train({ranks, "auto", 1}, [&](Communicator& world) { expect_saved(world, file(), 2); });
  EXPECT_EQ(std::distance(fs::directory_iterator{folder()}, {}), 1);
}

TEST_P(Checkpoints, AreRefusedWhereCutShort) {
  train(GetParam(), [&](Communicator& world) {
    save(world, file(), 1);
    const fs::path cut = folder() / "cut";
    const std::string whole = read_all(file());
    world.barrier();
    for (std::size_t bytes = 0; bytes < whole.size(); bytes += 100) {
      if (world.rank() == 0) write_all(cut, whole.substr(0, bytes));
      const std::string text = refusal(world, cut);
      EXPECT_NE(text.find("is cut short"), std::string::npos) << text;
    }
    if (world.rank() == 0) write_all(cut, whole + "x");
    (void)refusal(world, cut);
    expect_saved(world, file(), 1);
  });
}

TEST_P(Checkpoints, AreRefusedWhereChanged) {
  train(GetParam(), [&](Communicator& world) {
    save(world, file(), 1);
    const fs::path changed = folder() / "changed";
    const std::string whole = read_all(file());
    world.barrier();
    for (std::size_t byte = 0; byte < whole.size(); byte += byte < 60 ? 1 : 67) {
      std::string bytes = whole;
      bytes[byte] = static_cast<char>(bytes[byte] ^ 4);
      if (world.rank() == 0) write_all(changed, bytes);
      EXPECT_NE(refusal(world, changed), "");
    }
  });
}

TEST_P(Checkpoints, AreRefusedForOtherArrays) {
  train(GetParam(), [&](Communicator& world) {
    save(world, file(), 1);
    Contents own;
    const auto check = [&](const std::string& part, const auto& change) {
      std::vector<Parameter> arrays = own.arrays();
      if (world.rank() == world.size() - 1) change(arrays);
      const std::string text = refusal(world, file(), {}, arrays);
      EXPECT_NE(text.find(part), std::string::npos) << text;
      EXPECT_EQ(own, Contents{});
    };
    const std::string last = "rank " + std::to_string(world.size() - 1) + " wants ";
    check("'weights' of 300 f32, " + last + "'others' of 300 f32",
          [](auto& arrays) { arrays[0].name = "others"; });
    check(last + "'weights' of 299 f32", [](auto& arrays) { arrays[0].count = 299; });
    check(last + "'weights' of 300 i32", [](auto& arrays) { arrays[0].type = Datatype::i32; });
    check(last + "no more", [](auto& arrays) { arrays.pop_back(); });
    check("is no more, " + last, [](auto& arrays) { arrays.push_back(arrays[0]); });
    check("has no data", [](auto& arrays) { arrays[0].data = nullptr; });
    expect_saved(world, file(), 1);
  });
}

TEST_P(Checkpoints, StayWhereSavingFails) {
  train(GetParam(), [&](Communicator& world) {
    save(world, file(), 1);
    const auto expect_failure = [&](const char* part) {
      try {
        save(world, file(), 2);
        ADD_FAILURE() << "it was saved";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::transport);
        EXPECT_NE(std::string{error.what()}.find(part), std::string::npos) << error.what();
      }
      world.barrier();
      expect_saved(world, file(), 1);
    };
    for (const rlim_t bytes : {0U, 10U, 100U, 1000U, 1900U}) {
      std::optional<FileLimit> limit;
      if (world.rank() == 0) limit.emplace(bytes);
      expect_failure("cannot write");
      world.barrier();
    }
    fs::path partial = file();
    partial += ".partial";
    EXPECT_FALSE(fs::exists(partial));
    world.barrier();
    if (world.rank() == 0) fs::create_directory(partial);
    expect_failure("cannot open");
    if (world.rank() == 0) fs::remove(partial);
    if (world.rank() == 0) write_all(partial, std::string(100'000, 'x'));  // of one that was killed
    save(world, file(), 3);
    expect_saved(world, file(), 3);
  });
}

TEST_P(Checkpoints, AreRefusedWhereTheyCannotBe) {
  train(GetParam(), [&](Communicator& world) {
    Contents contents;
    const auto code_of = [&](const auto& call) {
      try {
        call();
      } catch (const Error& error) {
        return error.code();
      }
      return ErrorCode::bug;
    };
    const auto load = [&](const fs::path& path) {
      return code_of([&] { (void)load_checkpoint(world, path, contents.arrays()); });
    };
    EXPECT_EQ(load(folder() / "absent"), ErrorCode::transport);
    EXPECT_EQ(code_of([&] { save(world, folder() / "absent" / "model", 1); }),
              ErrorCode::transport);
    std::vector<Parameter> arrays = contents.arrays();
    arrays[0].type = Datatype::opaque;
    EXPECT_EQ(code_of([&] { save_checkpoint(world, file(), arrays); }),
              ErrorCode::invalid_argument);
    EXPECT_TRUE(fs::is_empty(folder()));
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, Checkpoints,
                         testing::Values(Setting{1, "auto", 1}, Setting{3, "auto", 1},
                                         Setting{4, "auto", 2}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tutti::test
