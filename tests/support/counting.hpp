/// @file
/// A transport that counts what it sends.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "tests/support/wrapper.hpp"

namespace tutti::harness {

/// Adds the bytes that a rank sends to others.
class Counting final : public Wrapper {
 public:
  /// @param inner the transport that does the work. @param bytes to add to; of several ranks, too.
  Counting(std::unique_ptr<Transport> inner, std::atomic<std::uint64_t>& bytes)
      : Wrapper{std::move(inner)}, bytes_{bytes} {}
  void post(std::span<const Transfer> transfers) override {
    for (const Transfer& transfer : transfers)
      if (transfer.kind == Transfer::Kind::send && transfer.peer != self())
        for (const Piece& piece : transfer.pieces) bytes_ += piece.bytes;
    Wrapper::post(transfers);
  }

 private:
  std::atomic<std::uint64_t>& bytes_;
};

}  // namespace tutti::harness
