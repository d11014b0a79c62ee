/// @file
/// Times of the catalog's rows in closed form, as the literature has them, written from scratch: p
/// ranks, a vector of m bytes whose blocks divide evenly, q = ceil(log2 p), W = m (p-1)/p.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::closed_forms {

/// The terms of a form.
struct Terms {
  std::int64_t p;
  std::int64_t m;
  std::int64_t q;  // ceil(log2 p)
  std::int64_t w;  // m (p-1) / p
  std::int64_t segments = 1;
};

// Prime, so that no two different terms are equal by chance.
inline constexpr std::int64_t kAlpha = 1'000'003;
inline constexpr std::int64_t kBeta = 101;
inline constexpr std::int64_t kGamma = 53;

/// The time of a choice on the numbers of ranks that the form is of.
struct Form {
  Collective collective;
  std::string choice;
  bool (*applies)(std::int64_t p);
  std::function<std::int64_t(const Terms&)> time;
  std::int64_t segments = 1;
  std::int64_t rows = 1;  // A # in the choice stands for p / rows.
};

/// @param n any. @param k base. @return digits to base k of the numbers below n: the levels of a
/// tree, the rounds of a butterfly.
[[nodiscard]] std::int64_t levels(std::int64_t n, std::int64_t k);

/// @return all forms; those of the barrier, which has no bytes, are in the test.
[[nodiscard]] std::vector<Form> every_form();

}  // namespace tutti::closed_forms
