#include "inherited_launch.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "launch.hpp"

namespace tutti::runtime {

std::string inherited_launch_text(const Environment& environment,
                                  const Environment& parent_environment,
                                  const std::string& parent) {
  const std::vector<std::string> names = rank_variables(environment);
  const auto is_equal = [&](const std::string& name) {
    return value_of(environment, name) == value_of(parent_environment, name);
  };
  if (names.empty() || !std::ranges::all_of(names, is_equal)) return {};
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i)
    list += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return "; " + parent + ", which started this one, has the same " + list +
         ": if it is that rank, this program has inherited them and cannot take its place; unset "
         "them for this program, or let it call init with rank 0 and size 1, and it is a world of "
         "its own";
}

Error with_inherited_launch(const Error& error, const Environment& environment) {
  const ::pid_t parent = ::getppid();
  std::string command;
  std::getline(std::ifstream{"/proc/" + std::to_string(parent) + "/comm"}, command);
  const std::string name = "process " + std::to_string(parent) + " (" + command + ")";
  return {error.code(),
          error.what() + inherited_launch_text(environment, initial_environment(parent), name),
          error.culprit(), error.cause()};
}

}  // namespace tutti::runtime
