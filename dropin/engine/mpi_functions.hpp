/// @file
/// The MPI's own functions, called by name with counts of either width.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti::dropin {

/// A count of MPI's functions that end in _c.
using Large = std::int64_t;

/// @param name such as "PMPI_Send". @return its address, or null if the MPI lacks it.
[[nodiscard]] void* find_in_mpi(const char* name) noexcept;

/// A handle of MPI_Info.
using Info = std::conditional_t<std::is_pointer_v<MPI_Comm>, void*, int>;

/// The form of a collective.
struct Form {
  MPI_Request* request =
      nullptr;               ///< That a call gets which starts or is prepared; null: it blocks.
  bool is_prepared = false;  ///< Whether MPI_Start starts the call.
  Info info{};               ///< Information of the program for a prepared one.

  [[nodiscard]] bool blocks() const { return request == nullptr; }
  [[nodiscard]] bool starts() const { return request != nullptr && !is_prepared; }
};

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

/// The name of a collective in the MPI: "PMPI_Bcast", "PMPI_Bcast_c", "PMPI_Ibcast", or
/// "PMPI_Bcast_init".
template <Name kName>
consteval auto full_name(bool starts, std::string_view end) {
  constexpr std::string_view kPrefix = "PMPI_I";
  std::array<char, kPrefix.size() + sizeof kName.text + 5> full{};
  char* to =
      std::ranges::copy(kPrefix.substr(0, kPrefix.size() - (starts ? 0 : 1)), full.begin()).out;
  char* const first = to;
  to = std::ranges::copy(kName.view(), to).out;
  if (!starts) *first = static_cast<char>(*first - 'a' + 'A');
  std::ranges::copy(end, to);
  return full;
}

// Without a request the function blocks.
template <bool kStarts, class... A>
int call(void* function, MPI_Comm comm, MPI_Request* request, A... arguments) {
  if constexpr (kStarts)
    return reinterpret_cast<int (*)(A..., MPI_Comm, MPI_Request*)>(function)(arguments..., comm,
                                                                             request);
  else return reinterpret_cast<int (*)(A..., MPI_Comm)>(function)(arguments..., comm);
}

template <bool kStarts, class... A>
int call_narrow(void* function, MPI_Comm comm, MPI_Request* request,
                const Narrow<A>&... arguments) {
  if (!(arguments.fits() && ...)) {
    PMPI_Comm_call_errhandler(comm, MPI_ERR_COUNT);
    return MPI_ERR_COUNT;
  }
  return call<kStarts>(function, comm, request, arguments.get()...);
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

template <Name kName, class Count, bool kStarts, class... A>
int find_and_call(MPI_Comm comm, MPI_Request* request, A... arguments) {
  static constexpr auto kPlain = full_name<kName>(kStarts, "");
  static void* const plain = find_in_mpi(kPlain.data());
  if constexpr (!std::is_same_v<Count, Large>) {
    return call<kStarts>(plain, comm, request, arguments...);
  } else {
    static constexpr auto kLarge = full_name<kName>(kStarts, "_c");
    static void* const large = find_in_mpi(kLarge.data());
    if (large != nullptr) return call<kStarts>(large, comm, request, arguments...);
    return call_narrow<kStarts, A...>(plain, comm, request,
                                      Narrow<A>{arguments, ranks_of(comm)}...);
  }
}

// MPIs before version 4 of MPI have such functions as extensions, or not at all.
inline void* find_prepared(const std::string& name) {
  void* const function = find_in_mpi(name.c_str());
  return function != nullptr ? function : find_in_mpi(("PMPIX" + name.substr(4)).c_str());
}

template <Name kName, class... A>
int find_and_prepare(MPI_Comm comm, const Form& form, A... arguments) {
  static constexpr auto kFull = full_name<kName>(false, "_init");
  static void* const function = find_prepared(kFull.data());
  if (function != nullptr)
    return reinterpret_cast<int (*)(A..., MPI_Comm, Info, MPI_Request*)>(function)(
        arguments..., comm, form.info, form.request);
  PMPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

}  // namespace detail

/// Runs, starts or prepares the MPI's own collective. Counts of Large take the function that ends
/// in _c, or the other one if the MPI lacks that; then the communicator's error handler gets a
/// count that is too large.
/// @tparam kName in small letters. @tparam Count of its counts. @param comm the last argument of a
/// call that blocks. @param arguments those before it.
template <Name kName, class Count, class... A>
int hand_on(const Form& form, MPI_Comm comm, A... arguments) {
  if (form.blocks()) return detail::find_and_call<kName, Count, false>(comm, nullptr, arguments...);
  if constexpr (std::is_same_v<Count, int>)
    if (form.is_prepared) return detail::find_and_prepare<kName>(comm, form, arguments...);
  return detail::find_and_call<kName, Count, true>(comm, form.request, arguments...);
}

}  // namespace tutti::dropin
