// Files that a person names: read as a whole, within a limit, or refused in words.
#include "base/text_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <tutti/error.hpp>

namespace tutti::detail {
namespace {

/// Why a file is not read; empty if it is.
std::string file_refusal(const std::string& path) try {
  (void)read_text_file(path);
  return {};
} catch (const Error& error) {
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  return error.what();
}

class TextFile : public testing::Test {
 protected:
  TextFile() { std::filesystem::create_directories(folder_); }
  ~TextFile() override { std::filesystem::remove_all(folder_); }

  std::string folder_ = testing::TempDir() + "tutti_text_file_test";
  std::string path_ = folder_ + "/text";
};

TEST_F(TextFile, IsReadAsAWhole) {
  const std::string text(std::size_t{3} << 20U, 'x');
  std::ofstream{path_, std::ios::binary} << text;
  EXPECT_EQ(read_text_file(path_), text);
  std::ofstream{path_}.close();
  EXPECT_EQ(read_text_file(path_), "");
}

TEST_F(TextFile, ThatCannotBeReadSaysWhy) {
  EXPECT_EQ(file_refusal(path_), path_ + ": no such file");
  EXPECT_EQ(file_refusal(folder_), folder_ + ": it is a folder");
  std::ofstream{path_}.close();
  EXPECT_EQ(file_refusal(path_ + "/more"), path_ + "/more: no such file");
}

TEST_F(TextFile, HasALimit) {
  const std::string words = ": it has more than 256 MiB, the most that is read";
  EXPECT_EQ(file_refusal("/dev/zero"), "/dev/zero" + words);
  std::ofstream{path_}.close();
  std::filesystem::resize_file(path_, kMostFileBytes + 1);
  EXPECT_EQ(file_refusal(path_), path_ + words);
}

TEST_F(TextFile, ThatIsAPipeWithoutAWriterIsEmpty) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(read_text_file(path_), "");
}

}  // namespace
}  // namespace tutti::detail
