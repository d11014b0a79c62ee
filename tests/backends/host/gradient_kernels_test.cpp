// Kernels over whole arrays of gradients against plain loops, for all lengths and addresses.
#include <algorithm>
#include <array>
#include <cmath>

#include <tutti/float16.hpp>
#include <tutti/spi/gradient_kernels.hpp>

#include "gradient_samples.hpp"

namespace tutti::test {
namespace {

constexpr Datatype kTypes[]{Datatype::f16, Datatype::bf16, Datatype::f32, Datatype::f64};

/// Elements of a type at any address.
struct Elements {
  Datatype type;
  std::vector<std::byte> storage;
  std::size_t offset;

  Elements(Datatype type_, const std::vector<float>& from, std::size_t offset_)
      : type{type_}, storage(from.size() * size_of(type_) + offset_), offset{offset_} {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (type == Datatype::f16) set(i, Float16{from[i]});
      if (type == Datatype::bf16) set(i, BFloat16{from[i]});
      if (type == Datatype::f32) set(i, from[i]);
      if (type == Datatype::f64) set(i, static_cast<double>(from[i]) * 1.000000001);
    }
  }
  std::byte* data() { return storage.data() + offset; }
  double at(std::size_t i) {
    if (type == Datatype::f16) return static_cast<double>(static_cast<float>(get<Float16>(i)));
    if (type == Datatype::bf16) return static_cast<double>(static_cast<float>(get<BFloat16>(i)));
    return type == Datatype::f32 ? static_cast<double>(get<float>(i)) : get<double>(i);
  }
  template <class T>
  T get(std::size_t i) {
    T element;
    std::memcpy(&element, data() + i * sizeof(T), sizeof(T));
    return element;
  }
  template <class T>
  void set(std::size_t i, T element) {
    std::memcpy(data() + i * sizeof(T), &element, sizeof(T));
  }
};

template <class Function>
void for_each_array(bool hard, Function function) {
  for (const Datatype type : kTypes)
    for (std::size_t count = 0; count <= kMostElements; ++count)
      for (std::size_t offset = 0; offset <= kMostOffset; ++offset) {
        const auto seed = static_cast<unsigned>(count * 100 + offset);
        Elements elements{type, gradient_samples(count, seed, hard), offset};
        function(elements, count);
        if (testing::Test::HasFailure()) return;
      }
}

TEST(GradientKernels, AddSquaresInAFixedOrder) {
  for_each_kernels([](const GradientKernels& kernels) {
    for_each_array(false, [&](Elements& elements, std::size_t count) {
      std::array<double, kGradientLanes> sums{};
      std::array<double, kGradientLanes> wanted{};
      for (std::size_t lane = 0; lane < kGradientLanes; ++lane)
        sums[lane] = wanted[lane] = 0.1 * static_cast<double>(lane);
      for (std::size_t i = 0; i < count; ++i)
        wanted[i % kGradientLanes] += elements.at(i) * elements.at(i);
      kernels.add_squares(elements.type, elements.data(), count, sums.data());
      ASSERT_EQ(sums, wanted) << name_of(elements.type) << ", " << count << " elements";
    });
  });
}

TEST(GradientKernels, FindWhatIsNotFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  for_each_kernels([&](const GradientKernels& kernels) {
    for_each_array(false, [&](Elements& elements, std::size_t count) {
      ASSERT_TRUE(kernels.are_finite(elements.type, elements.data(), count));
      for (const float bad : {inf, -inf, std::nanf("")}) {
        std::vector<float> numbers = gradient_samples(count, 1, false);
        if (count == 0) continue;
        numbers[(elements.offset * 31 + count) % count] = bad;
        Elements others{elements.type, numbers, elements.offset};
        ASSERT_FALSE(kernels.are_finite(others.type, others.data(), count)) << count;
      }
    });
  });
}

TEST(GradientKernels, HashAsTheyPromise) {
  for_each_kernels([](const GradientKernels& kernels) {
    for_each_array(true, [&](Elements& elements, std::size_t count) {
      const std::size_t bytes = count * size_of(elements.type);
      std::array<std::uint64_t, kGradientLanes> hashes{};
      for (std::size_t lane = 0; lane < kGradientLanes; ++lane) hashes[lane] = lane * 77;
      auto wanted = hashes;
      for (std::size_t i = 0; i < bytes; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, elements.data() + i, std::min<std::size_t>(8, bytes - i));
        std::uint64_t& hash = wanted[i / 8 % kGradientLanes];
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
        hash ^= hash >> 32;
      }
      kernels.add_hash(elements.data(), bytes, hashes.data());
      ASSERT_EQ(hashes, wanted) << bytes << " bytes";
    });
  });
}

TEST(GradientKernels, MultiplyAndRoundOnce) {
  for_each_kernels([](const GradientKernels& kernels) {
    for (const bool hard : {false, true})
      for_each_array(hard, [&](Elements& elements, std::size_t count) {
        if (elements.offset % size_of(elements.type) != 0) return;
        const Elements before = elements;
        kernels.multiply(elements.type, elements.data(), count, 0.3);
        for (std::size_t i = 0; i < count; ++i) {
          const double exact = Elements{before}.at(i) * 0.3;
          double wanted = exact;
          if (elements.type == Datatype::f32)
            wanted = static_cast<double>(static_cast<float>(exact));
          if (elements.type == Datatype::f16)
            wanted = static_cast<double>(static_cast<float>(Float16{static_cast<float>(exact)}));
          if (elements.type == Datatype::bf16)
            wanted = static_cast<double>(static_cast<float>(BFloat16{static_cast<float>(exact)}));
          ASSERT_EQ(std::isnan(elements.at(i)), std::isnan(wanted));
          if (std::isnan(wanted)) continue;
          ASSERT_EQ(std::bit_cast<std::uint64_t>(elements.at(i)),
                    std::bit_cast<std::uint64_t>(wanted))
              << name_of(elements.type) << " " << i << " of " << count;
        }
      });
  });
}

/// Calls a function with two arrays of floats at an offset in elements.
template <class Function>
void for_each_pair(Function function) {
  for (std::size_t count = 0; count <= kMostElements; ++count)
    for (std::size_t offset = 0; offset <= kMostOffset; ++offset) {
      const auto seed = static_cast<unsigned>(count * 100 + offset);
      function(gradient_samples(count + offset, seed, true),
               gradient_samples(count + offset, seed + 50, true), count, offset);
      if (testing::Test::HasFailure()) return;
    }
}

TEST(GradientKernels, AddAndKeepErrors) {
  using Floats = std::vector<float>;
  for_each_kernels([](const GradientKernels& kernels) {
    for_each_pair([&](const Floats& from, const Floats& to, std::size_t count, std::size_t offset) {
      Floats sums = to;
      Floats wanted = to;
      for (std::size_t i = offset; i < offset + count; ++i) wanted[i] += from[i];
      kernels.add(from.data() + offset, count, sums.data() + offset);
      ASSERT_TRUE(same_floats(sums, wanted, true));
      Floats errors(to.size());
      Floats wanted_errors(to.size());
      for (std::size_t i = offset; i < offset + count; ++i) {
        const float error = from[i] - to[i];
        wanted_errors[i] = std::isfinite(error) ? error : 0;
      }
      kernels.keep_errors(from.data() + offset, to.data() + offset, count, errors.data() + offset);
      ASSERT_TRUE(same_floats(errors, wanted_errors, false));
    });
  });
}

std::uint32_t magnitude(float x) {
  return std::isnan(x) ? 0x7f800000U : std::bit_cast<std::uint32_t>(std::fabs(x));
}

TEST(GradientKernels, CountAndFindMagnitudes) {
  using Floats = std::vector<float>;
  for_each_kernels([](const GradientKernels& kernels) {
    for_each_pair([&](const Floats& all, const Floats&, std::size_t count, std::size_t offset) {
      std::vector<std::uint32_t> bins(kMagnitudeBins, 3);
      std::vector<std::uint32_t> wanted = bins;
      for (std::size_t i = 0; i < count; ++i)
        ++wanted[magnitude(all[offset + i]) >> kMagnitudeShift];
      kernels.count_magnitudes(all.data() + offset, count, bins.data());
      ASSERT_EQ(bins, wanted);
      for (const std::uint32_t least : {0U, 1U, 0x3f800000U, 0x7f800000U}) {
        std::vector<std::uint32_t> indices(count);
        std::vector<std::uint32_t> found;
        for (std::size_t i = 0; i < count; ++i)
          if (magnitude(all[offset + i]) >= least) found.push_back(static_cast<std::uint32_t>(i));
        indices.resize(kernels.find_magnitudes(all.data() + offset, count, least, indices.data()));
        ASSERT_EQ(indices, found) << count << " elements from " << least;
      }
    });
  });
}

TEST(GradientKernels, AreThoseOfTheWidestInstructionSet) {
  EXPECT_EQ(&gradient_kernels(),
            &host::gradient_kernels_of(host::supported_instruction_sets().back()));
}

}  // namespace
}  // namespace tutti::test
