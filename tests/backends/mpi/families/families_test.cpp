// tutti's headers of families of MPIs agree with the MPIs' own.
#include <gtest/gtest.h>

#include "interface.hpp"

namespace {

TEST(MpiFamily, HasTheConstantsAndFunctionsOfTheMpi) {
  const Interface own = interface_of_family();
  EXPECT_GT(own.size(), 140U);
  for (const auto& [name, value] : interface_of_library()) EXPECT_EQ(own.at(name), value) << name;
}

}  // namespace
