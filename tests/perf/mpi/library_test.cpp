// The library that is loaded for the MPI of a launcher.
#include "perf/mpi/library.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"

namespace tutti::perf {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using Names = std::vector<std::string>;

void make_file(const fs::path& path) {
  fs::create_directories(path.parent_path());
  std::ofstream{path} << "a library";
}

TEST(MpiLibraries, NamesOfTheLaunchersFamilyWithoutAFileBesideIt) {
  EXPECT_EQ(mpi_libraries({{"OMPI_COMM_WORLD_SIZE", "2"}}, {}), (Names{"libmpi.so.40"}));
  EXPECT_EQ(mpi_libraries({{"PMI_FD", "7"}}, {}),
            (Names{"libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"}));
  EXPECT_EQ(mpi_libraries({{"I_MPI_MPIRUN", "mpirun"}}, {}),
            (Names{"libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"}));
}

TEST(MpiLibraries, NamesOfAllFamiliesWithoutALauncher) {
  EXPECT_EQ(mpi_libraries({}, {}),
            (Names{"libmpi.so.40", "libmpi.so.12", "libmpich.so.12", "libmpi_abi.so.1"}));
}

TEST(MpiLibraries, TheFileBesideTheLauncherComesFirst) {
  const TemporaryFolder folder;
  make_file(folder / "near/lib/libmpi.so.40");
  make_file(folder / "far/lib64/libmpi.so.40");
  const std::vector<fs::path> launchers{"/usr/bin/sh", folder / "near/bin/prted",
                                        folder / "far/bin/mpirun"};
  EXPECT_EQ(
      mpi_libraries({{"OMPI_COMM_WORLD_SIZE", "2"}}, launchers),
      (Names{folder / "near/lib/libmpi.so.40", folder / "far/lib64/libmpi.so.40", "libmpi.so.40"}));
}

TEST(MpiLibraries, AnotherFamilyBesideTheLauncherIsNotTaken) {
  const TemporaryFolder folder;
  make_file(folder / "lib/libmpi.so.12");
  const std::vector<fs::path> launchers{folder / "bin/prted"};
  EXPECT_EQ(mpi_libraries({{"OMPI_COMM_WORLD_SIZE", "2"}}, launchers), (Names{"libmpi.so.40"}));
}

TEST(MpiLibraries, TheVariableAllowsNoOther) {
  EXPECT_EQ(
      mpi_libraries({{"OMPI_COMM_WORLD_SIZE", "2"}, {"TUTTI_MPI_LIBRARY", "/opt/libmpi.so"}}, {}),
      (Names{"/opt/libmpi.so"}));
}

}  // namespace
}  // namespace tutti::perf
