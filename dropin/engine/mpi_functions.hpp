/// @file
/// The MPI's own functions, called by name with counts of either width.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti::dropin {

/// A count of MPI's functions that end in _c.
using Large = std::int64_t;

/// @param name such as "PMPI_Send". @return its address, or null if the MPI lacks it.
[[nodiscard]] void* find_in_mpi(const char* name) noexcept;

/// A name as an argument of a template.
template <std::size_t kSize>
struct Name {
  char text[kSize]{};
  consteval Name(const char (&name)[kSize]) { std::copy_n(name, kSize, text); }
  [[nodiscard]] constexpr std::string_view view() const { return {text, kSize - 1}; }
};

namespace detail {

/// An argument of a function with large counts, for the function with counts of int.
template <class T>
class Narrow {
 public:
  Narrow(T value, std::size_t) : value_{value} {}
  [[nodiscard]] bool fits() const { return true; }
  [[nodiscard]] T get() const { return value_; }

 private:
  T value_;
};
inline bool fits_int(Large value) {
  return value >= std::numeric_limits<int>::min() && value <= std::numeric_limits<int>::max();
}
template <>
class Narrow<Large> {
 public:
  Narrow(Large value, std::size_t) : value_{value} {}
  [[nodiscard]] bool fits() const { return fits_int(value_); }
  [[nodiscard]] int get() const { return static_cast<int>(value_); }

 private:
  Large value_;
};
/// Counts or displacements of all ranks.
template <>
class Narrow<const Large*> {
 public:
  Narrow(const Large* values, std::size_t ranks)
      : fits_{values == nullptr || std::all_of(values, values + ranks, fits_int)}, is_null_{
                                                                                       values ==
                                                                                       nullptr} {
    if (values != nullptr && fits_) values_.assign(values, values + ranks);
  }
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] const int* get() const { return is_null_ ? nullptr : values_.data(); }

 private:
  bool fits_;
  bool is_null_;
  std::vector<int> values_{};
};

/// The name of a collective in the MPI: "PMPI_Bcast", "PMPI_Bcast_c", or "PMPI_Ibcast".
template <Name kName>
consteval auto full_name(bool starts, std::string_view end) {
  constexpr std::string_view kPrefix = "PMPI_I";
  std::array<char, kPrefix.size() + sizeof kName.text + 2> full{};
  char* to =
      std::ranges::copy(kPrefix.substr(0, kPrefix.size() - (starts ? 0 : 1)), full.begin()).out;
  char* const first = to;
  to = std::ranges::copy(kName.view(), to).out;
  if (!starts) *first = static_cast<char>(*first - 'a' + 'A');
  std::ranges::copy(end, to);
  return full;
}

template <class... A>
int call_narrow(void* function, MPI_Comm comm, const Narrow<A>&... arguments) {
  if (!(arguments.fits() && ...)) {
    PMPI_Comm_call_errhandler(comm, MPI_ERR_COUNT);
    return MPI_ERR_COUNT;
  }
  return reinterpret_cast<int (*)(decltype(arguments.get())..., MPI_Comm)>(function)(
      arguments.get()..., comm);
}

/// As many counts as a call on a communicator may have.
inline std::size_t ranks_of(MPI_Comm comm) {
  int inter = 0;
  int ranks = 0;
  PMPI_Comm_test_inter(comm, &inter);
  if (inter != 0) PMPI_Comm_remote_size(comm, &ranks);
  else PMPI_Comm_size(comm, &ranks);
  return static_cast<std::size_t>(ranks);
}

}  // namespace detail

/// Runs or starts the MPI's own collective. Counts of Large take the function that ends in _c, or
/// the other one if the MPI lacks that; then the communicator's error handler gets a count that is
/// too large.
/// @tparam kName in small letters. @tparam Count of its counts. @param request of a call that
/// starts, or null. @param comm the last argument of a call that blocks. @param arguments the
/// others.
template <Name kName, class Count, class... A>
int hand_on(MPI_Request* request, MPI_Comm comm, A... arguments) {
  static constexpr auto kBlocking = detail::full_name<kName>(false, "");
  if constexpr (std::is_same_v<Count, Large>) {
    static constexpr auto kLarge = detail::full_name<kName>(false, "_c");
    static void* const large = find_in_mpi(kLarge.data());
    static void* const function = find_in_mpi(kBlocking.data());
    if (large != nullptr)
      return reinterpret_cast<int (*)(A..., MPI_Comm)>(large)(arguments..., comm);
    return detail::call_narrow<A...>(function, comm,
                                     detail::Narrow<A>{arguments, detail::ranks_of(comm)}...);
  } else {
    static constexpr auto kStarting = detail::full_name<kName>(true, "");
    static void* const blocking = find_in_mpi(kBlocking.data());
    static void* const starting = find_in_mpi(kStarting.data());
    if (request != nullptr)
      return reinterpret_cast<int (*)(A..., MPI_Comm, MPI_Request*)>(starting)(arguments..., comm,
                                                                               request);
    return reinterpret_cast<int (*)(A..., MPI_Comm)>(blocking)(arguments..., comm);
  }
}

}  // namespace tutti::dropin
