// The functions of a collective, which an MPI and its headers may lack.
#include <dlfcn.h>

#include "world.hpp"

namespace program {

std::string Form::name_of(std::string collective) const {
  if (kind == Kind::starts) {
    collective.front() = static_cast<char>(collective.front() - 'A' + 'a');
    collective = "I" + collective;
  }
  if (kind == Kind::is_prepared) collective += "_init";
  return "MPI_" + collective + (is_large ? "_c" : "");
}

void* find(const std::string& collective, Form& form) {
  const auto now = [&] { return dlsym(RTLD_DEFAULT, form.name_of(collective).c_str()); };
  if (void* const function = now()) return function;
  form.is_large = false;
  if (void* const function = now()) return function;
  form.kind = Form::Kind::blocks;
  return now();
}

}  // namespace program
