/// @file
/// Memory of other processes that was opened.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>

#include "tests/cuda/standin/calls.hpp"
#include "tests/cuda/standin/mapping.hpp"

namespace tutti::standin {

/// The content of a handle of memory.
struct SharedPiece {
  static constexpr std::uint64_t kMagic = 0x7475747469697063;

  std::uint64_t magic = 0;
  std::uint64_t nonce = 0;   ///< The file's.
  std::uint64_t serial = 0;  ///< Number of the allocation, so that no other has the same handle.
  std::uint64_t offset = 0;  ///< In the file.
  std::uint64_t bytes = 0;
  std::int32_t process = 0;
  std::int32_t file = -1;
  std::int32_t device = 0;  ///< The owner.
  std::int32_t unused = 0;

  bool operator==(const SharedPiece&) const = default;
};
static_assert(sizeof(SharedPiece) <= sizeof(CUipcMemHandle));

/// A piece of memory, as one device has opened it.
struct Window {
  SharedPiece piece;
  int opener = 0;  ///< The device that may access it.
  CUdeviceptr start = 0;
  int references = 1;
  std::shared_ptr<const Mapping> mapping;
  bool lost = false;  ///< Its process has ended, and the memory with it.
};

/// CUDA does not define the state of memory whose process has ended. It stays, or, as
/// CUDA_STANDIN_DEAD says, is lost.
class Windows {
 public:
  /// @return its first address, the same each time; zero if the piece is not there any more.
  CUdeviceptr open(const SharedPiece& piece, int opener);
  /// Ends one opening of a window.
  void close(CUdeviceptr start);
  /// @return the window that an address lies in.
  std::optional<Window> find(CUdeviceptr address) const;
  void write_leaks(std::ostream& out) const;

 private:
  const bool loses_ = setting("DEAD") == "lost";
  mutable std::mutex mutex_;
  std::map<CUdeviceptr, Window> by_start_;
};

}  // namespace tutti::standin
