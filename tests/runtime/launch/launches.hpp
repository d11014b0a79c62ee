// Environments of launchers, and what detect_launch makes of them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <tutti/error.hpp>

#include "runtime/launch/launch.hpp"

namespace tutti::runtime {

inline Environment merged(Environment one, const Environment& other) {
  one.insert(other.begin(), other.end());
  return one;
}

inline Environment changed(Environment environment, const std::string& name,
                           const std::string& value) {
  environment[name] = value;
  return environment;
}

inline std::string refusal(const Environment& environment, const LaunchArguments& arguments = {}) {
  try {
    const Launch launch = detect_launch(environment, arguments);
    return "accepted as " + launch.source;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace tutti::runtime
