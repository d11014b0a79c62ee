/// @file
/// Objects that are broadcast in segments: sent while they are encoded, decoded while they come.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <tutti/communicator.hpp>
#include <tutti/objects.hpp>

#include "tests/objects/text.hpp"

namespace tutti::samples {

/// Pieces of bytes, and what goes wrong with them.
struct Pieces {
  /// The faults of streams.
  enum class Fault : std::uint8_t {
    none,
    refused_later,  ///< Its codec throws the second time, before the last piece.
    longer_later,   ///< Its codec writes a byte more the second time,
    shorter_later,  ///< or less.
    unreadable,     ///< It does not decode, where it gets to the third piece.
    half_read       ///< Its codec leaves bytes.
  };
  std::vector<std::string> pieces{};
  Fault fault = Fault::none;
  mutable int encoded = 0;  ///< How often.

  friend bool operator==(const Pieces& a, const Pieces& b) { return a.pieces == b.pieces; }
};

/// @param count of pieces. @param most bytes of one. @param seed another one gives others.
/// @return pieces of any lengths.
[[nodiscard]] inline Pieces pieces_of(std::size_t count, std::size_t most, std::size_t seed) {
  Pieces all;
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    std::string piece((state >> 33) % (most + 1), ' ');
    for (std::size_t k = 0; k < piece.size(); ++k)
      piece[k] = static_cast<char>('a' + (k * 7 + k / 100 + i + seed) % 26);
    all.pieces.push_back(std::move(piece));
  }
  return all;
}

}  // namespace tutti::samples

/// Fault, number of pieces, and each of them.
template <>
struct tutti::Codec<tutti::samples::Pieces> {
  using Pieces = samples::Pieces;
  using Fault = Pieces::Fault;

  static void encode(Encoder& to, const Pieces& object) {
    const bool again = object.encoded++ > 0;
    to.put(static_cast<std::uint8_t>(object.fault));
    to.put_count(object.pieces.size());
    for (const std::string& piece : object.pieces) {
      if (again && object.fault == Fault::refused_later && &piece == &object.pieces.back())
        throw std::runtime_error{"there is no more ink"};
      to.put_run(piece.size(), piece.data(), piece.size());
    }
    const bool is_longer =
        again ? object.fault == Fault::longer_later : object.fault == Fault::shorter_later;
    if (is_longer) to.put(std::uint8_t{1});
  }
  static void decode(Decoder& from, Pieces& object) {
    object.fault = static_cast<Fault>(from.get<std::uint8_t>());
    object.pieces.resize(from.get_count());
    for (std::string& piece : object.pieces) {
      if (object.fault == Fault::unreadable && &piece == &object.pieces[2])
        throw std::runtime_error{"there is no more light"};
      if (object.fault == Fault::half_read && &piece == &object.pieces[object.pieces.size() / 2])
        return;
      const std::size_t count = from.get_count();
      if (count % 2 == 0) {
        piece.assign(reinterpret_cast<const char*>(from.pop(count)), count);
      } else {
        piece.resize(count);
        from.read(piece.data(), count);
      }
    }
  }
};

namespace tutti::test {

/// Streams objects of several sizes from every root, in small pieces and in pieces of many
/// segments.
inline void stream_objects(Communicator& world) {
  using samples::pieces_of;
  const Rank self = world.rank();
  struct PieceSizes {
    std::size_t count;
    std::size_t most;
  };
  for (const PieceSizes kind : {PieceSizes{40, 2000}, PieceSizes{3000, 100}, PieceSizes{15, 70'000},
                                PieceSizes{3, 700'000}}) {
    for (const Rank root : {Rank{0}, world.size() / 2}) {
      const auto wanted = pieces_of(kind.count, kind.most, static_cast<std::size_t>(root));
      EXPECT_EQ(objects(world).broadcast(self == root ? wanted : samples::Pieces{}, root), wanted);
    }
  }
  for (const std::size_t bytes : {32768U, 32769U, 131063U, 131064U}) {
    const auto wanted = samples::text_of(bytes, bytes);
    EXPECT_EQ(objects(world).broadcast(self == 0 ? wanted : samples::Text{}), wanted);
  }
}

/// A fault of the root is an error of all ranks, any other fault one of the ranks that decode. The
/// communicator stays usable.
inline void reject_streams(Communicator& world) {
  using Fault = samples::Pieces::Fault;
  const Rank self = world.rank();
  const Rank root = world.size() - 1;
  for (const std::size_t most : {std::size_t{3000}, std::size_t{20'000}}) {
    for (const Fault fault : {Fault::refused_later, Fault::longer_later, Fault::shorter_later,
                              Fault::unreadable, Fault::half_read}) {
      samples::Pieces own;
      if (self == root) {
        own = samples::pieces_of(100, most, 5);
        own.fault = fault;
      }
      // A world of one rank encodes nothing again.
      const bool is_roots = fault < Fault::unreadable && world.size() > 1;
      const auto result = objects(world).try_().broadcast(std::move(own), root);
      ASSERT_EQ(static_cast<bool>(result), !is_roots && self == root) << static_cast<int>(fault);
      samples::Text told;
      if (!result) {
        EXPECT_EQ(result.error().code(), ErrorCode::object) << result.error().what();
        EXPECT_EQ(result.error().culprit(), root) << result.error().what();
        told.words = result.error().what();
        const char* const why = fault == Fault::refused_later ? "there is no more ink"
                                : is_roots                    ? "counted"
                                : fault == Fault::unreadable  ? "there is no more light"
                                                              : "more bytes follow";
        EXPECT_NE(told.words.find(why), std::string::npos) << told.words;
      }
      for (const samples::Text& other : objects(world).all_gather(told)) {
        if (is_roots) {
          EXPECT_EQ(other, told);
        }
      }
    }
  }
}

/// Others are under way beside them, and are awaited in another order on each rank.
inline void overlap_streams(Communicator& world) {
  const Rank self = world.rank();
  const auto given = [&](Rank root) {
    return samples::pieces_of(50, 20'000, static_cast<std::size_t>(70 + root));
  };
  const Rank last = world.size() - 1;
  std::vector<double> sums(5000, self);
  auto first = objects(world).async().broadcast(self == 0 ? given(0) : samples::Pieces{}, 0);
  Request sum = world.async().all_reduce(sums);
  auto second =
      objects(world).async().broadcast(self == last ? given(last) : samples::Pieces{}, last);
  if (self % 2 == 0) {
    while (!second.test()) {
    }
    sum.wait();
  }
  EXPECT_EQ(second.wait(), given(last));
  EXPECT_EQ(first.wait(), given(0));
  sum.wait();
  EXPECT_EQ(sums[4999], world.size() * (world.size() - 1) / 2);
}

/// All of the above.
inline void run_stream_script(Communicator& world) {
  stream_objects(world);
  reject_streams(world);
  overlap_streams(world);
}

}  // namespace tutti::test
