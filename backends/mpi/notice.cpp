#include "notice.hpp"

#include <algorithm>
#include <cstring>

#include "check.hpp"

namespace tutti::mpi {

Notice make_notice(const Error& cause) noexcept {
  Notice notice{.code = cause.code(), .culprit = cause.culprit()};
  const std::size_t length = std::min(std::strlen(cause.what()), notice.text.size());
  std::memcpy(notice.text.data(), cause.what(), length);
  notice.length = static_cast<std::uint32_t>(length);
  return notice;
}

// A probe needs no receive posted in advance: a wildcard receive would have to be cancelled in the
// end, and slows the matching of all other messages down in some MPIs.
std::optional<Error> find_notice(const Group& group) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  check(MPI_Improbe(MPI_ANY_SOURCE, notice_tag(group), group.comm, &found, &message, &status),
        "look for abort notices");
  if (found == 0) return std::nullopt;
  Notice notice;
  check(MPI_Mrecv(&notice, sizeof notice, MPI_BYTE, &message, MPI_STATUS_IGNORE),
        "receive an abort notice");
  const std::size_t length = std::min<std::size_t>(notice.length, notice.text.size());
  return Error{ErrorCode::aborted,
               "rank " + std::to_string(status.MPI_SOURCE) + " failed (" +
                   std::string{name_of(notice.code)} + "): " + std::string(notice.text.data(), length),
               notice.culprit};
}

}  // namespace tutti::mpi
