#include "runtime/hello.hpp"

#include <unistd.h>

#include <array>
#include <sstream>

namespace tutti::runtime {

Hello own_hello(const std::string& job, int size, const std::string& nonce) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return {"tutti-file-2", job, std::to_string(size), nonce, host.data()};
}

std::string hello_name(Rank rank) {
  return "hello." + std::to_string(rank);
}

std::string text_of(const Hello& hello) {
  return hello.format + "\n" + hello.job + "\n" + hello.size + "\n" + hello.nonce + "\n" +
         hello.host + "\n";
}

Hello hello_of(const std::string& text) {
  Hello hello;
  std::istringstream lines{text};
  for (std::string* line : {&hello.format, &hello.job, &hello.size, &hello.nonce, &hello.host})
    std::getline(lines, *line);
  return hello;
}

std::string claim_of(const Hello& one, const Hello& other) {
  if (one.format != other.format) return "speaks " + one.format;
  if (one.job != other.job) return "belongs to job '" + one.job + "'";
  return "counts " + one.size + " ranks";
}

}  // namespace tutti::runtime
