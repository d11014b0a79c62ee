// The library that is loaded for the MPI of a launcher.
#include "perf/mpi/library.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tutti::perf {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// A folder that is deleted with the object.
class Folder {
 public:
  Folder() : path_{fs::temp_directory_path() / ("tutti_mpi_" + std::to_string(getpid()))} {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void make_file(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream{path} << "a library";
}

TEST(MpiLibraries, NamesOfTheLaunchersFamilyWithoutAFileBesideIt) {
  EXPECT_EQ(mpi_libraries({{"OMPI_COMM_WORLD_SIZE", "2"}}, {}), (Names{"libmpi.so.40"}));
  EXPECT_EQ(mpi_libraries({{"PMI_FD", "7"}}, {}), (Names{"libmpi.so.12", "libmpich.so.12"}));
  EXPECT_EQ(mpi_libraries({{"I_MPI_MPIRUN", "mpirun"}}, {}),
            (Names{"libmpi.so.12", "libmpich.so.12"}));
}

TEST(MpiLibraries, NamesOfAllFamiliesWithoutALauncher) {
  EXPECT_EQ(mpi_libraries({}, {}), (Names{"libmpi.so.40", "libmpi.so.12", "libmpich.so.12"}));
}

TEST(MpiLibraries, TheFileBesideTheLauncherComesFirst) {
  const Folder folder;
  const fs::path& root = folder.path();
  make_file(root / "near/lib/libmpi.so.40");
  make_file(root / "far/lib64/libmpi.so.40");
  const std::vector<fs::path> launchers{"/usr/bin/sh", root / "near/bin/prted",
                                        root / "far/bin/mpirun"};
  EXPECT_EQ(
      mpi_libraries({{"OMPI_COMM_WORLD_SIZE", "2"}}, launchers),
      (Names{root / "near/lib/libmpi.so.40", root / "far/lib64/libmpi.so.40", "libmpi.so.40"}));
}

TEST(MpiLibraries, AnotherFamilyBesideTheLauncherIsNotTaken) {
  const Folder folder;
  make_file(folder.path() / "lib/libmpi.so.12");
  const std::vector<fs::path> launchers{folder.path() / "bin/prted"};
  EXPECT_EQ(mpi_libraries({{"OMPI_COMM_WORLD_SIZE", "2"}}, launchers), (Names{"libmpi.so.40"}));
}

TEST(MpiLibraries, TheVariableAllowsNoOther) {
  EXPECT_EQ(
      mpi_libraries({{"OMPI_COMM_WORLD_SIZE", "2"}, {"TUTTI_MPI_LIBRARY", "/opt/libmpi.so"}}, {}),
      (Names{"/opt/libmpi.so"}));
}

}  // namespace
}  // namespace tutti::perf
