/// @file
/// Why a choice cannot serve a number of ranks, for tests of such sentences.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include <tutti/error.hpp>
#include <tutti/spi/algorithm.hpp>
#include <tutti/spi/catalog.hpp>

namespace tutti::v0 {

/// @param collective whose rows. @param text a choice. @param size number of ranks. @return what is
/// said.
inline std::string refusal(Collective collective, const char* text, int size) {
  try {
    require(parse_choice(collective, text), size);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "nothing is refused";
}

}  // namespace tutti::v0
