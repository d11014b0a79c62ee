#include "perf/tuning/override.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace tutti::perf {

Library library_of(std::string_view mpi) {
  if (mpi.starts_with("Open MPI")) return library_named("openmpi");
  if (mpi.starts_with("MPICH")) return library_named("mpich");
  if (mpi.starts_with("Intel")) return library_named("intel");
  return {};
}

std::string override_for(const Library& library, Collective collective,
                         std::string_view algorithm) {
  const auto found = std::ranges::find_if(library.counterparts, [&](const Counterpart& one) {
    return one.collective == collective && one.ours == algorithm;
  });
  if (found == library.counterparts.end()) return {};
  const std::string& name = library.calls.at(collective);
  std::string upper = name;
  for (char& letter : upper)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  if (library.writer == "openmpi")
    return fmt::format("--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_{}_algorithm {} ({})",
                       name, found->number, found->theirs);
  if (library.writer == "mpich")
    return fmt::format("MPIR_CVAR_DEVICE_COLLECTIVES=none MPIR_CVAR_{}_INTRA_ALGORITHM={}", upper,
                       found->theirs);
  if (library.writer == "intel")
    return fmt::format("I_MPI_ADJUST_{}={} ({})", upper, found->number, found->theirs);
  return {};
}

}  // namespace tutti::perf
