// Files that the command reads and writes: what is not there, of an unknown kind, or without an end
// is told in one line, by one rule for all of them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/command/runner.hpp"

namespace tutti::v0 {
namespace {

class CommandFiles : public testing::Test {
 protected:
  CommandFiles() { std::filesystem::create_directories(folder_); }
  ~CommandFiles() override { std::filesystem::remove_all(folder_); }

  /// Stores a text. @return the path.
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const {
    std::ofstream{folder_ + "/" + name, std::ios::binary} << text;
    return folder_ + "/" + name;
  }
  /// Runs the command, which must fail with one line that has some words and none of a parser's.
  static void expect_refusal(const std::string& arguments, int code, const std::string& words,
                             const std::string& before = "") {
    const Answer run = tutti_run(arguments, before);
    EXPECT_EQ(run.code, code) << arguments << ": " << run.err;
    EXPECT_EQ(lines_in(run.err), 1) << arguments << ": " << run.err;
    EXPECT_TRUE(has(run.err, words)) << arguments << ": " << run.err;
    EXPECT_FALSE(has(run.err, "exception")) << arguments << ": " << run.err;
  }

  std::string folder_ = testing::TempDir() + "tutti_files_test";
};

/// A command that reads a file, named FILE; the ending of its name counts.
struct Door {
  std::string before{};
  std::string arguments{};
};
const std::vector<Door> kDoors{
    {"", "topology FILE"},
    {"", "simulate FILE"},
    {"", "explain --topology FILE -C all_reduce -b 8"},
    {"", "show all_reduce multitree:graph=@FILE"},
    {"", "show all_gather x --ranks 4 --load FILE.json"},
    {"", "verify --ranks 4 --load FILE.xml"},
    {"", "export FILE --to openmpi"},
    {"", "gradients --model FILE"},
    {"", "sweep --replay FILE"},
    {"", "sweep -C all_reduce -b 8 -e 8 -n 1 --baseline FILE"},
    {"TUTTI_TOPOLOGY=FILE", "sweep -C all_reduce -b 8 -e 8 -n 1"},
    {"TUTTI_TUNING=FILE", "sweep -C all_reduce -b 8 -e 8 -n 1"},
};

std::string with_file(std::string text, const std::string& path) {
  const std::size_t at = text.find("FILE");
  if (at != text.npos) text.replace(at, 4, path);
  return text;
}

TEST_F(CommandFiles, ThatDoNotExistSaySo) {
  for (const Door& door : kDoors)
    expect_refusal(with_file(door.arguments, folder_ + "/none"), 2, "none",
                   with_file(door.before, folder_ + "/none"));
  for (const Door& door : kDoors)
    EXPECT_TRUE(has(tutti_run(with_file(door.arguments, folder_ + "/none"),
                              with_file(door.before, folder_ + "/none"))
                        .err,
                    ": no such file"))
        << door.before << " " << door.arguments;
  expect_refusal("topology none.json", 2,
                 "none.json: no such file, and not a network: known are machine and switch:64, ");
  expect_refusal("topology tours:4x4", 2, "tours:4x4: no such file, and not a network: known are");
}

TEST_F(CommandFiles, OfAnUnknownKindSayWhichAreKnown) {
  for (const std::string text : {"<html></html>", "hello\n", "[1]", "\x89PNG\r\n", ""}) {
    const std::string path = file("any", text);
    expect_refusal("topology " + path, 2, path + ": it is not a network: known are JSON with ");
  }
  const std::string object = file("object.json", "{\"name\": 1}");
  expect_refusal("topology " + object, 2,
                 object + ": it is not a network: expected an object with");
  expect_refusal("show all_reduce x --load " + object, 2, ": it is not a schedule: expected JSON");
  expect_refusal("export --to openmpi " + object, 2, ": it is not a tuning file: expected a file");
  expect_refusal("gradients --model " + object, 2, ": it is not a model: expected output");
  expect_refusal("sweep --replay " + object, 2, "is not a record of tutti sweep --json");
  const std::string page = file("page.xml", "<html></html>");
  expect_refusal("show all_reduce x --load " + page, 2,
                 ": it is not a schedule: expected an <algo> of MSCCL, found <html>");
}

TEST_F(CommandFiles, HaveOneLimit) {
  const std::string deep = file("deep", std::string(1 << 20, '['));
  std::filesystem::copy(deep, folder_ + "/deep.json");
  std::filesystem::copy(deep, folder_ + "/deep.xml");
  std::filesystem::create_symlink("/dev/zero", folder_ + "/endless");
  std::filesystem::create_symlink("/dev/zero", folder_ + "/endless.json");
  std::filesystem::create_symlink("/dev/zero", folder_ + "/endless.xml");
  for (const Door& door : kDoors) {
    expect_refusal(with_file(door.arguments, folder_ + "/deep"), 2, "",
                   with_file(door.before, folder_ + "/deep"));
    expect_refusal(with_file(door.arguments, folder_ + "/endless"), 2, "it has more than 256 MiB",
                   with_file(door.before, folder_ + "/endless"));
  }
}

TEST_F(CommandFiles, ThatAreWrittenNeedTheirFolder) {
  const std::string none = folder_ + "/none/";
  const std::string words = "cannot write '" + none;
  const std::string small = " -C all_reduce -b 8 -e 8 --ranks 2 ";
  const std::string model = "gradients --model resnet50 --compute 1ms ";
  for (const std::string& arguments :
       {"show all_reduce ring --output " + none + "a.txt", "topology switch:4 -o " + none + "a",
        "simulate switch:4 -a ring --heat " + none + "a.svg",
        "sweep" + small + "--csv " + none + "a", "sweep" + small + "--json " + none + "a",
        "sweep" + small + "--plot " + none + "a.svg", "lint" + small + "--json " + none + "a",
        "tune" + small + "-o " + none + "a", "calibrate --ranks 2 -o " + none + "a",
        model + "--settings " + none + "a", model + "--json " + none + "a",
        model + "--plot " + none + "a.svg"}) {
    expect_refusal(arguments, 4, words);
    EXPECT_FALSE(std::filesystem::exists(none)) << arguments;
  }
}

}  // namespace
}  // namespace tutti::v0
