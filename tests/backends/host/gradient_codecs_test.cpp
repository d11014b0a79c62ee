// Kernels that make gradients shorter against plain loops, bit for bit.
#include <algorithm>
#include <cmath>

#include <tutti/float16.hpp>

#include "gradient_samples.hpp"

namespace tutti::test {
namespace {

template <class Half>
void expect_as_scalars(Datatype type, const GradientKernels& kernels) {
  for (std::size_t count = 0; count <= kMostElements; ++count)
    for (std::size_t offset = 0; offset <= kMostOffset; ++offset) {
      const auto seed = static_cast<unsigned>(count * 20 + offset);
      const std::vector<float> from = gradient_samples(count + offset, seed, true);
      std::vector<std::byte> halves(count * 2 + offset);
      kernels.shorten(type, from.data() + offset, count, halves.data() + offset);
      std::vector<float> wide(count + offset, 0.25F);
      std::vector<float> wanted = wide;
      std::vector<float> wanted_sums = from;
      for (std::size_t i = 0; i < count; ++i) {
        Half half;
        std::memcpy(&half, halves.data() + offset + 2 * i, sizeof half);
        ASSERT_EQ(half.bits, Half{from[offset + i]}.bits)
            << std::hex << std::bit_cast<std::uint32_t>(from[offset + i]);
        wanted[offset + i] = static_cast<float>(half);
        wanted_sums[offset + i] += static_cast<float>(half);
      }
      kernels.lengthen(type, halves.data() + offset, count, wide.data() + offset);
      ASSERT_TRUE(same_floats(wide, wanted, false)) << count << " elements at " << offset;
      std::vector<float> sums = from;
      kernels.add_lengthened(type, halves.data() + offset, count, sums.data() + offset);
      ASSERT_TRUE(same_floats(sums, wanted_sums, true)) << count << " elements at " << offset;
    }
}

template <class Half>
void expect_all_halves(Datatype type, const GradientKernels& kernels) {
  std::vector<std::uint16_t> halves(65536);
  std::vector<float> wanted(halves.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    Half half;
    half.bits = halves[i] = static_cast<std::uint16_t>(i);
    wanted[i] = static_cast<float>(half);
  }
  std::vector<float> wide(halves.size());
  kernels.lengthen(type, halves.data(), halves.size(), wide.data());
  EXPECT_TRUE(same_floats(wide, wanted, false));
}

TEST(GradientCodecs, ShortenAsFloat16AndBFloat16Do) {
  for_each_kernels([](const GradientKernels& kernels) {
    expect_as_scalars<Float16>(Datatype::f16, kernels);
    expect_as_scalars<BFloat16>(Datatype::bf16, kernels);
    expect_all_halves<Float16>(Datatype::f16, kernels);
    expect_all_halves<BFloat16>(Datatype::bf16, kernels);
  });
}

TEST(GradientCodecs, RoundAllExponentsAndTiesAsFloat16Does) {
  std::vector<float> from;
  for (std::uint32_t upper = 0; upper < 0x80000;
       ++upper)  // sign, exponent and ten bits of fraction
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x1fffU})
      if (upper % 8 < 4) from.push_back(std::bit_cast<float>(upper << 13 | lower));
  for_each_kernels([&](const GradientKernels& kernels) {
    std::vector<std::uint16_t> halves(from.size());
    kernels.shorten(Datatype::f16, from.data(), from.size(), halves.data());
    for (std::size_t i = 0; i < from.size(); ++i)
      ASSERT_EQ(halves[i], Float16{from[i]}.bits) << std::bit_cast<std::uint32_t>(from[i]);
  });
}

/// A block as bytes, plainly.
struct PlainBytes {
  static std::size_t bytes(std::size_t count) { return count; }
  static float pack(const float* from, std::size_t count, std::byte* to) {
    float most = 0;
    float poison = 0;
    for (std::size_t i = 0; i < count; ++i) {
      most = std::max(most, std::fabs(from[i]));
      poison += from[i] * 0.0F;
    }
    const float scale = most / 127 + poison;
    const float inverse = scale > 0 ? 1 / scale : 0;
    const float factor = std::isfinite(inverse) ? inverse : 0;
    for (std::size_t i = 0; i < count; ++i) {
      const float x = std::isfinite(scale) ? from[i] * factor : 0;
      to[i] = static_cast<std::byte>(static_cast<std::int8_t>(x + std::copysign(0.5F, x)));
    }
    return scale;
  }
  static float unpack(const std::byte* from, std::size_t i) {
    return static_cast<float>(static_cast<std::int8_t>(from[i]));
  }
};

/// A block as signs, plainly.
struct PlainSigns {
  static std::size_t bytes(std::size_t count) { return (count + 7) / 8; }
  static float pack(const float* from, std::size_t count, std::byte* to) {
    double sizes = 0;
    for (std::size_t i = 0; i < count; ++i) sizes += static_cast<double>(std::fabs(from[i]));
    std::fill_n(to, bytes(count), std::byte{});
    for (std::size_t i = 0; i < count; ++i)
      to[i / 8] |= static_cast<std::byte>(std::signbit(from[i]) ? 1U << (i % 8) : 0U);
    return static_cast<float>(sizes / static_cast<double>(count));
  }
  static float unpack(const std::byte* from, std::size_t i) {
    return ((from[i / 8] >> (i % 8)) & std::byte{1}) == std::byte{0} ? 1.0F : -1.0F;
  }
};

struct BlockKernels {
  decltype(GradientKernels::pack_bytes) pack;
  decltype(GradientKernels::unpack_bytes) unpack;
  decltype(GradientKernels::add_bytes) add;
};

/// Blocks as plain loops make them.
struct PlainBlocks {
  std::vector<std::byte> packed{};
  std::vector<float> unpacked{};
};

template <class Plain>
PlainBlocks plain_blocks(const float* from, std::size_t count, std::size_t block) {
  PlainBlocks blocks;
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t size = std::min(block, count - first);
    std::vector<std::byte> packed(sizeof(float) + Plain::bytes(size));
    const float scale = Plain::pack(from + first, size, packed.data() + sizeof(float));
    std::memcpy(packed.data(), &scale, sizeof scale);
    for (std::size_t i = 0; i < size; ++i)
      blocks.unpacked.push_back(Plain::unpack(packed.data() + sizeof(float), i) * scale);
    blocks.packed.insert(blocks.packed.end(), packed.begin(), packed.end());
  }
  return blocks;
}

/// @param offset of elements, and in bytes of blocks.
template <class Plain>
void expect_blocks(const BlockKernels& kernels, const std::vector<float>& all, std::size_t offset,
                   std::size_t block) {
  const std::size_t count = all.size() - offset;
  const PlainBlocks wanted = plain_blocks<Plain>(all.data() + offset, count, block);
  std::vector<std::byte> packed(wanted.packed.size() + offset);
  kernels.pack(all.data() + offset, count, block, packed.data() + offset);
  // A sum of several NaNs may be any of them.
  std::size_t at = 0;
  for (std::size_t first = 0; first < count; first += block) {
    const std::size_t bytes = Plain::bytes(std::min(block, count - first));
    float scale = 0;
    float wanted_scale = 0;
    std::memcpy(&scale, packed.data() + offset + at, sizeof scale);
    std::memcpy(&wanted_scale, wanted.packed.data() + at, sizeof scale);
    ASSERT_TRUE(same_floats({scale}, {wanted_scale}, true));
    at += sizeof scale;
    ASSERT_TRUE(std::equal(packed.data() + offset + at, packed.data() + offset + at + bytes,
                           wanted.packed.data() + at))
        << count << " elements in blocks of " << block;
    at += bytes;
  }
  std::vector<float> unpacked(all.size());
  kernels.unpack(packed.data() + offset, count, block, unpacked.data() + offset);
  unpacked.erase(unpacked.begin(), unpacked.begin() + static_cast<std::ptrdiff_t>(offset));
  ASSERT_TRUE(same_floats(unpacked, wanted.unpacked, true)) << count << " by " << block;
  std::vector<float> sums = all;
  std::vector<float> wanted_sums(all.begin() + static_cast<std::ptrdiff_t>(offset), all.end());
  for (std::size_t i = 0; i < count; ++i) wanted_sums[i] += wanted.unpacked[i];
  kernels.add(packed.data() + offset, count, block, sums.data() + offset);
  sums.erase(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(offset));
  ASSERT_TRUE(same_floats(sums, wanted_sums, true)) << count << " by " << block;
}

template <class Plain>
void expect_all_blocks(const BlockKernels& kernels) {
  for (const bool hard : {false, true}) {
    for (std::size_t count = 0; count <= kMostElements; ++count)
      for (std::size_t offset = 0; offset <= kMostOffset; ++offset)
        for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
          const auto seed = static_cast<unsigned>(count * 20 + offset);
          expect_blocks<Plain>(kernels, gradient_samples(count + offset, seed, hard), offset,
                               block);
          if (testing::Test::HasFailure()) return;
        }
    for (const std::size_t block : {13U, 256U, 1000U, 1024U})
      for (const std::size_t count : {1000U, 8192U, 20'011U})
        expect_blocks<Plain>(kernels, gradient_samples(count + 3, 7, hard), 3, block);
  }
  // All of a block are too small for a scale that could be inverted, or for one at all.
  for (const float tiny : {1e-45F, 1e-42F, 1e-38F})
    expect_blocks<Plain>(kernels, {tiny, -tiny, 0, -0.0F, tiny, tiny, -tiny, tiny, 0, tiny}, 1, 4);
}

TEST(GradientCodecs, PackBytesAsPlainLoopsDo) {
  for_each_kernels([](const GradientKernels& kernels) {
    expect_all_blocks<PlainBytes>({kernels.pack_bytes, kernels.unpack_bytes, kernels.add_bytes});
  });
}

TEST(GradientCodecs, PackSignsAsPlainLoopsDo) {
  for_each_kernels([](const GradientKernels& kernels) {
    expect_all_blocks<PlainSigns>({kernels.pack_signs, kernels.unpack_signs, kernels.add_signs});
  });
}

}  // namespace
}  // namespace tutti::test
