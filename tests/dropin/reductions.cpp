// Reductions of every datatype that MPI defines them on, and by an operator of the program.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "world.hpp"

namespace program {
namespace {

// A user's operator that is not commutative: affine maps modulo 2^32, in pairs of int.
void compose(void* left, void* right, int* count, MPI_Datatype*) {
  for (int i = 0; i < *count; ++i) {
    const auto* const a = static_cast<const std::uint32_t*>(left) + 2 * i;
    auto* const b = static_cast<std::uint32_t*>(right) + 2 * i;
    b[1] += b[0] * a[1];  // first a, then b
    b[0] *= a[0];
  }
}

// One element type, with the operators that MPI defines on it. Elements are written and compared as
// bytes.
struct Elements {
  std::string name;
  MPI_Datatype type;
  std::vector<MPI_Op> ops;
  std::size_t bytes;                       // extent
  std::function<void(void*, long)> write;  // makes an element of a small number
  std::function<void(void* into, const void* with, int op)> reduce;  // into = into op with
};

template <class T>
Elements numbers(std::string name, MPI_Datatype type, bool bits) {
  std::vector<MPI_Op> ops{MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  if (bits) ops.insert(ops.end(), {MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR});
  return {name,
          type,
          ops,
          sizeof(T),
          [](void* at, long v) { *static_cast<T*>(at) = static_cast<T>(v % 3 + 1); },
          [](void* into, const void* with, int op) {
            T& a = *static_cast<T*>(into);
            const T b = *static_cast<const T*>(with);
            if (op == 0) a = static_cast<T>(a + b);
            if (op == 1) a = static_cast<T>(a * b);
            if (op == 2) a = std::min(a, b);
            if (op == 3) a = std::max(a, b);
            if constexpr (std::is_integral_v<T>) {
              if (op == 4) a = a && b;
              if (op == 5) a = a || b;
              if (op == 6) a = static_cast<T>((a != 0) != (b != 0));
              if (op == 7) a = static_cast<T>(a & b);
              if (op == 8) a = static_cast<T>(a | b);
              if (op == 9) a = static_cast<T>(a ^ b);
            }
          }};
}

template <class T>
struct Place {
  T value;
  int index;
};

template <class T>
Elements places(std::string name, MPI_Datatype type) {
  return {name,
          type,
          {MPI_MINLOC, MPI_MAXLOC},
          sizeof(Place<T>),
          [](void* at, long v) {
            *static_cast<Place<T>*>(at) = {static_cast<T>(v % 3), static_cast<int>(v)};
          },
          [](void* into, const void* with, int op) {
            auto& a = *static_cast<Place<T>*>(into);
            const auto& b = *static_cast<const Place<T>*>(with);
            const bool takes_b = op == 0 ? b.value < a.value : b.value > a.value;
            if (b.value == a.value) a.index = std::min(a.index, b.index);
            if (takes_b) a = {b.value, b.index};
          }};
}

std::vector<Elements> make_elements() {
  std::vector<Elements> all{
      numbers<int>("int", MPI_INT, true),
      numbers<signed char>("signed char", MPI_SIGNED_CHAR, true),
      numbers<short>("short", MPI_SHORT, true),
      numbers<unsigned long>("unsigned long", MPI_UNSIGNED_LONG, true),
      numbers<long long>("long long", MPI_LONG_LONG, true),
      numbers<float>("float", MPI_FLOAT, false),
      numbers<double>("double", MPI_DOUBLE, false),
      numbers<long double>("long double", MPI_LONG_DOUBLE, false),
      places<int>("2int", MPI_2INT),
      places<long>("long int", MPI_LONG_INT),
      places<float>("float int", MPI_FLOAT_INT),
      places<double>("double int", MPI_DOUBLE_INT),
      places<short>("short int", MPI_SHORT_INT),
      places<long double>("long double int", MPI_LONG_DOUBLE_INT),
  };
  MPI_Op op;
  MPI_Op_create(compose, 0, &op);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_UINT32_T, &pair);
  MPI_Type_commit(&pair);
  all.push_back({"affine map",
                 pair,
                 {op},
                 8,
                 [](void* at, long v) {
                   static_cast<std::uint32_t*>(at)[0] = static_cast<std::uint32_t>(2 * v + 1);
                   static_cast<std::uint32_t*>(at)[1] = static_cast<std::uint32_t>(v);
                 },
                 [](void* into, const void* with, int) {
                   std::array<std::uint32_t, 2> right{static_cast<const std::uint32_t*>(with)[0],
                                                      static_cast<const std::uint32_t*>(with)[1]};
                   int one = 1;
                   compose(into, right.data(), &one, nullptr);
                   std::copy(right.begin(), right.end(), static_cast<std::uint32_t*>(into));
                 }});
  return all;
}

struct ReductionCall {
  const World& world;
  const Elements& elements;
  long call;
  int op = below(static_cast<int>(elements.ops.size()));
  bool in_place = below(3) == 0;
  Form form{};
  int count = below(4) == 0 ? below(3000) : below(60);
  int root = below(world.size);

  using Bytes = std::vector<unsigned char>;
  [[nodiscard]] Bytes input(int rank, int of) const {
    Bytes bytes(static_cast<std::size_t>(of) * elements.bytes + 1);
    for (int i = 0; i < of; ++i)
      elements.write(&bytes[static_cast<std::size_t>(i) * elements.bytes],
                     value(call, rank, static_cast<std::size_t>(i)));
    return bytes;
  }
  [[nodiscard]] Bytes reduced(int ranks, int of) const {
    Bytes bytes = input(0, of);
    for (int rank = 1; rank < ranks; ++rank) {
      const Bytes with = input(rank, of);
      for (int i = 0; i < of; ++i) {
        const auto at = static_cast<std::size_t>(i) * elements.bytes;
        elements.reduce(&bytes[at], &with[at], op);
      }
    }
    return bytes;
  }
  // Padding is nobody's: elements are equal if reducing them by MIN, or writing them, says so; so
  // bytes of a copy with equal padding are compared.
  void check(const char* what, const Bytes& got, int of, const Bytes& expected,
             int from = 0) const {
    int size = 0;
    MPI_Type_size(elements.type, &size);
    for (int i = 0; i < of; ++i) {
      Bytes a(elements.bytes), b(elements.bytes);
      int position = 0;
      MPI_Pack(&got[static_cast<std::size_t>(i) * elements.bytes], 1, elements.type, a.data(),
               static_cast<int>(a.size()), &position, MPI_COMM_SELF);
      position = 0;
      MPI_Pack(&expected[static_cast<std::size_t>(from + i) * elements.bytes], 1, elements.type,
               b.data(), static_cast<int>(b.size()), &position, MPI_COMM_SELF);
      if (elements.name.starts_with("long double")) {  // of 16 bytes, 10 are the number's
        std::fill(a.begin() + 10, a.begin() + 16, 0);
        std::fill(b.begin() + 10, b.begin() + 16, 0);
      }
      if (std::equal(a.begin(), a.begin() + size, b.begin())) continue;
      if (++wrong < 10)
        std::fprintf(stderr,
                     "call %ld, %s of %s, operator %d, %d elements%s: element %d is wrong on rank "
                     "%d of %d\n",
                     call, what, elements.name.c_str(), op, of, in_place ? " in place" : "", i,
                     world.rank, world.size);
      return;
    }
  }
  void run() const {
    const MPI_Op handle = elements.ops[static_cast<std::size_t>(op)];
    const int kind = below(6);
    const bool scatters = kind == 4 || kind == 5;
    Counts counts(static_cast<std::size_t>(world.size), count);
    if (kind == 5)
      for (int rank = 0; rank < world.size; ++rank)
        counts[static_cast<std::size_t>(rank)] = (count + rank * 3) % 50;
    const int total = scatters ? std::accumulate(counts.begin(), counts.end(), 0) : count;
    const int before = std::accumulate(counts.begin(), counts.begin() + world.rank, 0);
    const int own = scatters ? counts[static_cast<std::size_t>(world.rank)] : count;
    const Bytes in = input(world.rank, total);
    Bytes out = in_place ? in : Bytes(in.size(), 0xaa);
    const void* const source = in_place ? MPI_IN_PLACE : static_cast<const void*>(in.data());
    switch (kind) {
      case 0:
        program::run(world, form, "Allreduce", source, out.data(), Count{count}, elements.type,
                     handle, world.comm);
        return check("allreduce", out, count, reduced(world.size, count));
      case 1:
        program::run(world, form, "Reduce", world.rank == root ? source : in.data(), out.data(),
                     Count{count}, elements.type, handle, root, world.comm);
        if (world.rank == root) check("reduce", out, count, reduced(world.size, count));
        return;
      case 2:
        program::run(world, form, "Scan", source, out.data(), Count{count}, elements.type, handle,
                     world.comm);
        return check("scan", out, count, reduced(world.rank + 1, count));
      case 3:
        program::run(world, form, "Exscan", source, out.data(), Count{count}, elements.type, handle,
                     world.comm);
        if (world.rank > 0) check("exscan", out, count, reduced(world.rank, count));
        return;
      case 4:
        program::run(world, form, "Reduce_scatter_block", source, out.data(), Count{count},
                     elements.type, handle, world.comm);
        return check("reduce_scatter_block", out, own, reduced(world.size, total), before);
      default:
        program::run(world, form, "Reduce_scatter", source, out.data(), counts, elements.type,
                     handle, world.comm);
        return check("reduce_scatter", out, own, reduced(world.size, total), before);
    }
  }
};

}  // namespace

void reduce(const World& world, long call) {
  static const std::vector<Elements> all = make_elements();
  ReductionCall{world, all[static_cast<std::size_t>(below(static_cast<int>(all.size())))], call}
      .run();
}

}  // namespace program
