#include "perf/tuning/override.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tutti::perf {

std::optional<Library> library_named(std::string_view library) {
  if (library.starts_with("Open MPI")) return Library::openmpi;
  if (library.starts_with("MPICH")) return Library::mpich;
  if (library.starts_with("Intel")) return Library::intel;
  return {};
}

std::string override_for(Library library, Collective collective, std::string_view algorithm) {
  const auto counterparts = counterparts_of(library);
  const auto found = std::ranges::find_if(counterparts, [&](const Counterpart& one) {
    return one.collective == collective && one.ours == algorithm;
  });
  if (found == counterparts.end()) return {};
  const std::string_view name = name_there(library, collective);
  std::string upper{name};
  for (char& letter : upper)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  if (library == Library::openmpi)
    return fmt::format("--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_{}_algorithm {} ({})",
                       name, found->number, found->theirs);
  if (library == Library::mpich)
    return fmt::format("MPIR_CVAR_DEVICE_COLLECTIVES=none MPIR_CVAR_{}_INTRA_ALGORITHM={}", upper,
                       found->theirs);
  if (library == Library::intel)
    return fmt::format("I_MPI_ADJUST_{}={} ({})", upper, found->number, found->theirs);
  return {};
}

}  // namespace tutti::perf
