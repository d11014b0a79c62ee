/// @file
/// Memory at inaccessible addresses: the same bytes lie, for the stand-in alone, at an
/// alias a constant distance away. They are in a file, which other processes can open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <cuda.h>

namespace tutti::standin {

/// A file without a place in a file system.
class SharedFile {
 public:
  /// Makes one. Pages are taken when they are written to, so that most of it is never there.
  explicit SharedFile(std::size_t bytes);
  /// Opens one of another process, of that number there.
  /// @param nonce what makes it known. It is not open if that is another file, or none.
  SharedFile(int process, int file, std::uint64_t nonce);
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  ~SharedFile();

  bool is_open() const noexcept { return file_ >= 0; }
  int file() const noexcept { return file_; }
  std::uint64_t nonce() const noexcept { return nonce_; }
  /// Gives pages back; who reads them finds zeros.
  void drop(std::size_t offset, std::size_t bytes) const;

 private:
  std::uint64_t nonce_;
  int file_ = -1;
};

class Mapping {
 public:
  /// @param offset in the file, of a page.
  Mapping(const SharedFile& file, std::size_t offset, std::size_t bytes);
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping();

  std::size_t bytes() const noexcept { return bytes_; }
  /// @return the first address.
  CUdeviceptr fence() const noexcept { return reinterpret_cast<CUdeviceptr>(start_); }
  bool contains(CUdeviceptr address) const noexcept {
    return address >= fence() && address - fence() < bytes_;
  }
  /// @return where the stand-in accesses what lies at an address.
  std::byte* alias(CUdeviceptr address) const noexcept {
    return start_ + bytes_ + (address - fence());
  }

 private:
  const std::size_t bytes_;
  std::byte* const start_;  ///< The fence, then the alias.
};

/// @return the bytes of a page.
std::size_t page_bytes() noexcept;

}  // namespace tutti::standin
