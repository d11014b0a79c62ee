/// @file
/// Questions of tests about errors and texts.
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include <tutti/error.hpp>

namespace tutti::test {

/// @return whether a text has a part, with both for the report.
inline ::testing::AssertionResult has(std::string_view text, std::string_view part) {
  const bool is_there = text.find(part) != text.npos;
  return (is_there ? ::testing::AssertionSuccess() : ::testing::AssertionFailure())
         << '\'' << part << "' " << (is_there ? "is" : "is not") << " in: " << text;
}

/// @return the error of work that must fail.
template <class Work>
Error error_of(Work&& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorCode::bug, "nothing was thrown"};
}

}  // namespace tutti::test
