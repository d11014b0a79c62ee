// Collectives that move data. Ranks describe the same data by different datatypes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <vector>

#include "world.hpp"

namespace program {

std::vector<Layout> layouts() {
  std::vector<Layout> all{{MPI_LONG, 1, 1, {0}}};
  MPI_Datatype type;
  MPI_Type_contiguous(3, MPI_LONG, &type);
  MPI_Type_commit(&type);
  all.push_back({type, 3, 3, {0, 1, 2}});
  MPI_Type_vector(2, 1, 2, MPI_LONG, &type);  // extent 3
  MPI_Type_commit(&type);
  all.push_back({type, 2, 3, {0, 2}});
  const std::array<int, 2> lengths{1, 1}, backward{1, 0};
  MPI_Type_indexed(2, lengths.data(), backward.data(), MPI_LONG, &type);  // in reverse
  MPI_Type_commit(&type);
  all.push_back({type, 2, 2, {1, 0}});
  return all;
}

namespace {

// Memory of elements, filled with a mark.
struct Memory {
  const Layout& layout;
  Numbers longs;
  static constexpr long kMark = -77;
  Memory(const Layout& of, std::size_t elements)
      : layout{of}, longs(elements * static_cast<std::size_t>(of.stride) + 1, kMark) {}
  void* at(std::size_t element = 0) {
    return &longs[element * static_cast<std::size_t>(layout.stride)];
  }
  long& datum(std::size_t i) {
    const auto per = static_cast<std::size_t>(layout.longs);
    return longs[i / per * static_cast<std::size_t>(layout.stride) +
                 static_cast<std::size_t>(layout.places[i % per])];
  }
};

void expect(const char* what, long call, Memory& memory, std::size_t begin,
            const Numbers& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (memory.datum(begin + i) != expected[i]) {
      if (++wrong < 10)
        std::fprintf(stderr, "call %ld, %s: datum %zu is %ld, not %ld\n", call, what, begin + i,
                     memory.datum(begin + i), expected[i]);
      return;
    }
}

Numbers data_of(long call, int rank, std::size_t begin, std::size_t count) {
  Numbers data(count);
  for (std::size_t i = 0; i < count; ++i) data[i] = value(call, rank, begin + i);
  return data;
}

void fill(Memory& memory, long call, int rank, std::size_t begin, std::size_t count,
          std::size_t from = 0) {
  for (std::size_t i = 0; i < count; ++i) memory.datum(begin + i) = value(call, rank, from + i);
}

// Movements. Counts are of layouts: `most` has three longs, so six longs fit all.
struct Movement {
  const World& world;
  const std::vector<Layout>& layouts;
  long call;
  bool in_place = below(3) == 0;
  Form form{};
  std::size_t data = 6 * static_cast<std::size_t>(below(40));  // longs of a block
  int root = below(world.size);
  // Ranks describe the same data by different types.
  const Layout& in =
      layouts[(static_cast<std::size_t>(call) + static_cast<std::size_t>(world.rank)) %
              layouts.size()];
  const Layout& out =
      layouts[(static_cast<std::size_t>(call) / 3 + 2 * static_cast<std::size_t>(world.rank)) %
              layouts.size()];
  std::size_t n = static_cast<std::size_t>(world.size);
  std::size_t self = static_cast<std::size_t>(world.rank);

  [[nodiscard]] static Count count(const Layout& layout, std::size_t longs) {
    return {static_cast<int>(longs / static_cast<std::size_t>(layout.longs))};
  }
  [[nodiscard]] static std::size_t elements(const Layout& layout, std::size_t longs) {
    return static_cast<std::size_t>(count(layout, longs).number);
  }
  [[nodiscard]] std::size_t block(std::size_t rank) const {
    return 6 * ((rank * 5 + static_cast<std::size_t>(call)) % 4);
  }

  void bcast() const {
    Memory memory{in, elements(in, data)};
    if (world.rank == root) fill(memory, call, root, 0, data);
    program::run(world, form, "Bcast", memory.at(), count(in, data), in.type, root, world.comm);
    expect("bcast", call, memory, 0, data_of(call, root, 0, data));
  }
  void gather(bool all) const {
    Memory from{in, elements(in, data)}, to{out, n * elements(out, data)};
    const bool has_all = all || world.rank == root;
    const bool is_in_place = in_place && has_all;
    fill(from, call, world.rank, 0, data);
    if (is_in_place) fill(to, call, world.rank, self * data, data);
    const void* const source = is_in_place ? MPI_IN_PLACE : from.at();
    if (all)
      program::run(world, form, "Allgather", in_place ? MPI_IN_PLACE : source, count(in, data),
                   in.type, to.at(), count(out, data), out.type, world.comm);
    else
      program::run(world, form, "Gather", source, count(in, data), in.type, to.at(),
                   count(out, data), out.type, root, world.comm);
    for (std::size_t rank = 0; has_all && rank < n; ++rank)
      expect(all ? "allgather" : "gather", call, to, rank * data,
             data_of(call, static_cast<int>(rank), 0, data));
  }
  void scatter() const {
    Memory from{in, n * elements(in, data)}, to{out, elements(out, data)};
    fill(from, call, root, 0, n * data);
    const bool is_in_place = in_place && world.rank == root;
    program::run(world, form, "Scatter", from.at(), count(in, data), in.type,
                 is_in_place ? MPI_IN_PLACE : to.at(), count(out, data), out.type, root,
                 world.comm);
    if (!is_in_place) expect("scatter", call, to, 0, data_of(call, root, self * data, data));
  }
  void alltoall() const {
    Memory from{in, n * elements(in, data)}, to{out, n * elements(out, data)};
    Memory& source = in_place ? to : from;
    fill(source, call, world.rank, 0, n * data);
    program::run(world, form, "Alltoall", in_place ? MPI_IN_PLACE : from.at(), count(in, data),
                 in.type, to.at(), count(out, data), out.type, world.comm);
    for (std::size_t rank = 0; rank < n; ++rank)
      expect("alltoall", call, to, rank * data,
             data_of(call, static_cast<int>(rank), self * data, data));
  }
  // Blocks of different sizes, in memory backward and with a gap.
  struct Places {
    Counts counts, places;
    std::vector<std::size_t> begins;
    std::size_t elements = 0;
  };
  [[nodiscard]] Places backward(const Layout& layout,
                                const std::function<std::size_t(std::size_t)>& longs) const {
    Places p{Counts(n), Counts(n), std::vector<std::size_t>(n)};
    for (std::size_t rank = n; rank-- > 0;) {
      p.counts[rank] = count(layout, longs(rank)).number;
      p.places[rank] = static_cast<int>(p.elements);
      p.begins[rank] = p.elements * static_cast<std::size_t>(layout.longs);
      p.elements += static_cast<std::size_t>(p.counts[rank]) + 1;
    }
    return p;
  }
  void gatherv(bool all) const {
    const Places p = backward(out, [this](std::size_t rank) { return block(rank); });
    Memory from{in, elements(in, block(self))}, to{out, p.elements};
    const bool has_all = all || world.rank == root;
    const bool is_in_place = in_place && has_all;
    fill(from, call, world.rank, 0, block(self));
    if (is_in_place) fill(to, call, world.rank, p.begins[self], block(self));
    const void* const source = is_in_place ? MPI_IN_PLACE : from.at();
    if (all)
      program::run(world, form, "Allgatherv", source, count(in, block(self)), in.type, to.at(),
                   p.counts, p.places, out.type, world.comm);
    else
      program::run(world, form, "Gatherv", source, count(in, block(self)), in.type, to.at(),
                   p.counts, p.places, out.type, root, world.comm);
    for (std::size_t rank = 0; has_all && rank < n; ++rank)
      expect(all ? "allgatherv" : "gatherv", call, to, p.begins[rank],
             data_of(call, static_cast<int>(rank), 0, block(rank)));
  }
  void scatterv() const {
    const Places p = backward(in, [this](std::size_t rank) { return block(rank); });
    Memory from{in, p.elements}, to{out, elements(out, block(self))};
    for (std::size_t rank = 0; rank < n; ++rank)
      fill(from, call, root, p.begins[rank], block(rank), rank);
    program::run(world, form, "Scatterv", from.at(), p.counts, p.places, in.type, to.at(),
                 count(out, block(self)), out.type, root, world.comm);
    expect("scatterv", call, to, 0, data_of(call, root, self, block(self)));
  }
  void alltoallv(bool w) const {
    const auto longs = [this](std::size_t from, std::size_t to) {
      return 6 * ((from * 3 + to * 5 + static_cast<std::size_t>(call)) % 3);
    };
    const Places i = backward(in, [&](std::size_t rank) { return longs(self, rank); });
    const Places o = backward(out, [&](std::size_t rank) { return longs(rank, self); });
    Memory from{in, i.elements}, to{out, o.elements};
    for (std::size_t rank = 0; rank < n; ++rank)
      fill(from, call, world.rank, i.begins[rank], longs(self, rank), rank);
    const auto in_bytes = [](Counts places, const Layout& layout) {
      for (int& place : places) place *= layout.stride * static_cast<int>(sizeof(long));
      return places;
    };
    if (w) {
      const std::vector<MPI_Datatype> in_types(n, in.type), out_types(n, out.type);
      program::run(world, form, "Alltoallw", from.at(), i.counts, in_bytes(i.places, in),
                   in_types.data(), to.at(), o.counts, in_bytes(o.places, out), out_types.data(),
                   world.comm);
    } else {
      program::run(world, form, "Alltoallv", from.at(), i.counts, i.places, in.type, to.at(),
                   o.counts, o.places, out.type, world.comm);
    }
    for (std::size_t rank = 0; rank < n; ++rank)
      expect(w ? "alltoallw" : "alltoallv", call, to, o.begins[rank],
             data_of(call, static_cast<int>(rank), self, longs(rank, self)));
  }
  void run() const {
    switch (below(11)) {
      case 0: return bcast();
      case 1: return gather(false);
      case 2: return gather(true);
      case 3: return scatter();
      case 4: return alltoall();
      case 5: return gatherv(false);
      case 6: return gatherv(true);
      case 7: return scatterv();
      case 8: return alltoallv(false);
      case 9: return alltoallv(true);
      default: program::run(world, form, "Barrier", world.comm);
    }
  }
};

}  // namespace

void renew_types(const World& world) {
  for (int turn = 0; turn < 40; ++turn) {
    MPI_Datatype type;
    const int stride = 1 + turn % 3;
    MPI_Type_vector(4, 1, stride, MPI_LONG, &type);
    MPI_Type_commit(&type);
    Numbers longs(16, world.rank == 0 ? turn : -1);
    MPI_Bcast(longs.data(), 1, type, 0, world.comm);
    MPI_Type_free(&type);
    for (int i = 0; i < 16; ++i) {
      const bool is_sent = world.rank == 0 || (i % stride == 0 && i / stride < 4);
      if (longs[static_cast<std::size_t>(i)] != (is_sent ? turn : -1)) ++wrong;
    }
  }
}

void move(const World& world, const std::vector<Layout>& layouts, long call) {
  Movement{world, layouts, call}.run();
}

}  // namespace program
