// An all_reduce for tests of `--load` that leaves out all ranks but two.
#include <tutti/spi/catalog.hpp>

namespace {

/// Receives from the rank before and sends to the one behind.
tutti::Schedule forgetful(const tutti::Shape& shape, tutti::Rank self) {
  tutti::Schedule schedule{1};
  schedule.add(tutti::Send{(self + 1) % shape.size, {}});
  schedule.add(tutti::RecvReduce{(self + shape.size - 1) % shape.size, {}});
  schedule.end_round();
  return schedule;
}

}  // namespace

extern "C" void tutti_add_algorithms(tutti::Catalog& catalog) {
  catalog.add({.collective = tutti::Collective::all_reduce,
               .name = "forgetful",
               .build = forgetful,
               .summary = "wrong from three ranks on"});
}
