/// @file
/// A locale of a program, as of users in Germany.
#pragma once

#include <locale>
#include <string>

namespace tutti::test {

/// While it lives, streams write 1234.5 as "1.234,5".
class GermanNumbers {
 public:
  GermanNumbers() : before_{std::locale::global(std::locale{std::locale{}, new Facet})} {}
  GermanNumbers(const GermanNumbers&) = delete;
  GermanNumbers& operator=(const GermanNumbers&) = delete;
  ~GermanNumbers() { std::locale::global(before_); }

 private:
  class Facet final : public std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale before_;
};

}  // namespace tutti::test
