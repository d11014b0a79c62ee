"""Newcomers' first programs compile, or the compiler's first error says in tutti's words what to write."""
import re
import subprocess
import sys

from tools import run

HEADER = """#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tutti/tutti.hpp>
"""

ARGUMENTS = """#include "all.hpp"

[[maybe_unused]] static float larger(float a, float b) { return std::max(a, b); }
void call(tutti::Communicator& world, std::vector<float>& a, std::vector<float>& b, std::vector<bool>& bits,
          std::vector<std::pair<float, int>>& pairs, float* pointer, std::size_t count,
          [[maybe_unused]] tutti::Rank root) {
"""

# All of it in one program.
WORKS = """
  world.all_reduce(a, std::plus<>{});
  world.all_reduce(a, b, [](float x, float y) { return x * y; });
  world.all_reduce(a, [](auto x, auto y) { return std::max(x, y); }, {.algorithm = "ring"});
  world.reduce(a, b, larger, root);
  const float sum = world.all_reduce(1.5F, std::plus<float>{});
  const std::vector<int> all = world.all_gather(std::array{1, 2});
  const std::vector<float> reduced = world.reduce(std::vector<float>{sum}, std::plus<>{}, root);
  world.broadcast(std::span{pointer, count}, root);
  world.all_gather({pointer, count}, b);
  world.async().all_reduce(a, std::multiplies<>{}).wait();
  if (!world.try_().scan(a, std::plus<>{})) bits.push_back(all.empty() && reduced.empty() && pairs.empty());
"""

POINTER = "tutti takes arrays, not pointers: pass std::span{pointer, count}"
BITS = "std::vector<bool> holds bits"
ENDS = "this array ends with the expression"
PAIR = "std::pair and std::tuple are not trivially copyable"
REFUSED = {
    "world.all_reduce(pointer, count);": POINTER,
    "world.broadcast(pointer, count, root);": POINTER,
    "world.all_gather(pointer, count, b);": POINTER,
    "world.all_reduce(bits);": BITS,
    "world.all_gather(bits, bits);": BITS,
    "world.all_gather(std::array{true});": "this call would return a std::vector<bool>",
    "world.all_reduce(std::vector<float>{1, 2}, b);": ENDS,
    "world.all_gather(std::vector<float>{1, 2}, b);": ENDS,
    "world.send(std::vector<float>{1, 2}, root);": ENDS,
    "world.sendrecv(std::array{1.0F}, root, b, root);": ENDS,
    "world.async().all_gather(std::vector<float>{1, 2}, b);": ENDS,
    "world.all_reduce(std::pair{1.0F, 2}, tutti::min_loc);": PAIR,
    "world.broadcast(pairs);": "use a struct in place of a std::pair or std::tuple",
    "world.all_reduce(a, std::minus<>{});": "an operator must be associative",
    "world.all_reduce(a, [](const void*, const void*, void*, std::size_t) {});":
        "or by a function of two elements that returns one",
}

WITHOUT_EXCEPTIONS = """#include <tutti/cereal.hpp>
#include <tutti/objects.hpp>
#include <tutti/training.hpp>
#include <tutti/tutti.hpp>

#include <cstdio>
#include <map>
#include <string>
#include <variant>

struct Note {
  std::string text;
  std::variant<int, std::string> more;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text, more);
  }
};

int main() {
  auto world = tutti::try_init();
  if (!world) return 1;
  std::vector<float> numbers(4, 1.0F);
  const auto wrong = world.value().try_().broadcast(numbers, 7);
  const auto right = world.value().try_().all_reduce(numbers);
  const auto object = objects(world.value()).try_().broadcast(3, 7);
  const std::map<std::string, Note> sent{{"a", {"b", "c"}}};
  auto notes = objects(world.value()).try_().broadcast(sent);
  if (!notes || notes.value().at("a").more != sent.at("a").more) return 1;
  std::puts(wrong || object ? "no error" : wrong.error().what());
  return right ? 0 : 1;
}
"""

WITHOUT_EXCEPTIONS_ON_GPUS = """#include <tutti/cuda.hpp>
#include <tutti/cuda_array.hpp>
#include <tutti/objects.hpp>
#include <tutti/tutti.hpp>

bool broadcast(tutti::Communicator& world, std::size_t count) {
  tutti::cuda::Array<float> array{count};
  auto moved = objects(world).try_().broadcast(std::move(array), 0);
  return moved && moved.value().size() == count;
}
"""


def first_error(command, program, path):
    """The first error of the compiler, or nothing where it has none."""
    path.write_text(program, encoding="utf-8")
    result = subprocess.run([*command, path], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            check=False)
    found = re.search(r"(?:error|fatal error): (.*)", result.stderr)
    if found or result.returncode == 0:
        return found[1] if found else ""
    sys.exit(f"{command} failed:\n{result.stderr}")


def check_misuse(arguments, folder, prefix):
    """Compiles each."""
    compiler = [arguments.compiler, f"-I{prefix / 'include'}"]
    only = [*compiler, "-std=c++20", "-Wall", "-Wextra", "-fsyntax-only"]
    path, header = folder / "misuse.cpp", folder / "all.hpp"
    header.write_text(HEADER, encoding="utf-8")
    # Read once for all of them. Where it fails, they read the header itself.
    run(*compiler, "-std=c++20", "-Wall", "-Wextra", "-x", "c++-header", header)
    error = first_error([*only, "-Werror"], f"{ARGUMENTS}{WORKS}}}\n", path)
    if error:
        sys.exit(f"what should work does not compile: {error}")
    for line, words in REFUSED.items():
        error = first_error(only, f"{ARGUMENTS}  {line}\n}}\n", path)
        if words not in error:
            sys.exit(f"{line}\nexpected words: {words}\nfirst error: {error}")
    error = first_error([*compiler, "-std=c++17", "-fsyntax-only"], f"{ARGUMENTS}}}\n", path)
    if "tutti needs C++20" not in error:
        sys.exit(f"C++17: {error}")


def check_without_exceptions(arguments, folder, prefix):
    """A program that is compiled with -fno-exceptions gets errors from try_."""
    flags = run("pkg-config", "--cflags", "--libs", "tutti",
                env={"PKG_CONFIG_PATH": str(prefix / arguments.libdir / "pkgconfig"),
                     "PATH": "/usr/bin:/bin"})
    path, program = folder / "without.cpp", folder / "without"
    path.write_text(WITHOUT_EXCEPTIONS, encoding="utf-8")
    command = f"'{arguments.compiler}' -std=c++20 -fno-exceptions '{path}' -o '{program}' {flags}"
    run("sh", "-c", f"{command.strip()} '-Wl,-rpath,{prefix / arguments.libdir}'")
    output = run(program)
    if "root" not in output:
        sys.exit(f"-fno-exceptions: {output}")
    if (prefix / "include" / "tutti" / "cuda.hpp").is_file():
        only = [arguments.compiler, f"-I{prefix / 'include'}", "-std=c++20", "-fno-exceptions",
                "-fsyntax-only"]
        error = first_error(only, WITHOUT_EXCEPTIONS_ON_GPUS, path)
        if error:
            sys.exit(f"-fno-exceptions, for GPUs: {error}")
