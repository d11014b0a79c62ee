/// @file
/// Gives a message to its sink, however its bytes come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/spi/transport.hpp>

namespace tutti::shm {

/// Between the parts a message comes in and the parts its sink may be given: where those cut an
/// element, or lie where no element of its size should, they are joined here first.
class Feed {
 public:
  /// Starts a message. @param transfer has a sink. @param bytes of the message.
  void start(const Transfer& transfer, std::uint64_t bytes);
  /// @param part the next bytes of the message, never more than are left.
  void take(std::span<const std::byte> part);

 private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  void join(std::span<const std::byte>& part);
  [[nodiscard]] bool is_aligned(const std::byte* data, std::size_t offset) const noexcept;

  Sink* sink_ = nullptr;
  std::size_t grain_ = 1;
  std::size_t alignment_ = 1;
  std::uint64_t left_ = 0;        // not yet given to us
  std::uint64_t given_ = 0;       // to the sink
  std::vector<Line> joined_{};    // parts waiting to be given
  std::size_t joined_bytes_ = 0;  // of them
};

}  // namespace tutti::shm
