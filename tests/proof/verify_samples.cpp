#include "verify_samples.hpp"

namespace tutti::samples {
namespace {

std::uint32_t unit(int value) {
  return static_cast<std::uint32_t>(value);
}

template <class Build>
Sample for_ranks(const Contract& contract, Build build) {
  Sample sample{contract, {}};
  for (Rank rank = 0; rank < contract.size; ++rank) sample.schedules.push_back(build(rank));
  return sample;
}

int wrap(int value, int size) {
  return (value % size + size) % size;
}

}  // namespace

Sample ring_all_reduce(int size) {
  return for_ranks({Collective::all_reduce, size}, [size](Rank self) {
    Schedule schedule{unit(size)};
    const Rank next = wrap(self + 1, size);
    const Rank previous = wrap(self - 1, size);
    const auto at = [&](int distance) {
      return Slots{Space::out, unit(wrap(self + distance, size)), 1};
    };
    for (int k = 1; k < size; ++k)
      schedule.round({Send{next, at(-k)}, RecvReduce{previous, at(-k - 1)}});
    schedule.round({Finish{at(0)}});
    for (int k = 0; k < size - 1; ++k)
      schedule.round({Send{next, at(-k)}, Recv{previous, at(-k - 1)}});
    return schedule;
  });
}

Sample ring_all_gather(int size) {
  return for_ranks({Collective::all_gather, size}, [size](Rank self) {
    Schedule schedule{unit(size)};
    for (int k = 0; k < size - 1; ++k) {
      const Slots sent{Space::out, unit(wrap(self - k, size)), 1};
      const Slots received{Space::out, unit(wrap(self - k - 1, size)), 1};
      schedule.round({Send{wrap(self + 1, size), sent}, Recv{wrap(self - 1, size), received}});
    }
    return schedule;
  });
}

Sample recursive_doubling_all_reduce(int size) {
  return for_ranks({Collective::all_reduce, size}, [size](Rank self) {
    Schedule schedule{1};
    for (int mask = 1; mask < size; mask *= 2) {
      const Rank peer = self ^ mask;
      const Side side = peer < self ? Side::left : Side::right;
      schedule.round({Send{peer, {}}, RecvReduce{peer, {}, side}});
    }
    return schedule.round({Finish{{}}});
  });
}

Sample chain_reduce(int size) {
  return for_ranks({Collective::reduce, size}, [size](Rank self) {
    Schedule schedule{1};
    if (self + 1 < size) schedule.round({RecvReduce{self + 1, {}, Side::right}});
    if (self > 0) schedule.round({Send{self - 1, {}}});
    if (self == 0) schedule.round({Finish{{}}});
    return schedule;
  });
}

Sample binomial_broadcast(int size) {
  return for_ranks({Collective::broadcast, size}, [size](Rank self) {
    Schedule schedule{1};
    for (int mask = 1; mask < size; mask *= 2) {
      if (self < mask && self + mask < size) schedule.round({Send{self + mask, {}}});
      if (self >= mask && self < 2 * mask) schedule.round({Recv{self - mask, {}}});
    }
    return schedule;
  });
}

Sample linear_scatter(int size, Rank root) {
  return for_ranks({Collective::scatter, size, root}, [size, root](Rank self) {
    Schedule schedule{unit(size)};
    if (self != root) return schedule.round({Recv{root, {Space::out, unit(self), 1}}});
    for (Rank peer = 0; peer < size; ++peer)
      if (peer != root) schedule.add(Send{peer, {Space::in, unit(peer), 1}});
    return schedule.end_round();
  });
}

Sample relayed_scatter(int size) {
  return for_ranks({Collective::scatter, size}, [size](Rank self) {
    Schedule schedule{unit(size), 1};
    const std::uint32_t others = unit(size) - 2;
    if (self == 0) schedule.round({Send{1, {Space::in, 1, 1}}, Send{1, {Space::in, 2, others}}});
    if (self == 1) {
      schedule.round({Recv{0, {Space::out, 1, 1}}, Recv{0, {Space::scratch, 2, others}}});
      for (Rank peer = 2; peer < size; ++peer)
        schedule.add(Send{peer, {Space::scratch, unit(peer), 1}});
      schedule.end_round();
    }
    if (self > 1) schedule.round({Recv{1, {Space::out, unit(self), 1}}});
    return schedule;
  });
}

Sample pairwise_all_to_all(int size) {
  return for_ranks({Collective::all_to_all, size}, [size](Rank self) {
    Schedule schedule{unit(size * size)};
    for (int k = 1; k < size; ++k) {
      const Rank to = wrap(self + k, size);
      const Rank from = wrap(self - k, size);
      schedule.round({Send{to, {Space::in, unit(self * size + to), 1}},
                      Recv{from, {Space::out, unit(from * size + self), 1}}});
    }
    return schedule;
  });
}

Sample dissemination_barrier(int size) {
  return for_ranks({Collective::barrier, size}, [size](Rank self) {
    Schedule schedule{1};
    for (int distance = 1; distance < size; distance *= 2)
      schedule.round(
          {Send{wrap(self + distance, size), {}}, RecvReduce{wrap(self - distance, size), {}}});
    return schedule;
  });
}

Sample shouting_all_reduce(int size) {
  return for_ranks({Collective::all_reduce, size}, [size](Rank self) {
    Schedule schedule{1, unit(size - 1)};
    for (int k = 1; k < size; ++k)
      schedule.round({Send{wrap(self - k, size), {Space::in, 0, 1}},
                      Recv{wrap(self + k, size), {Space::scratch, unit(k - 1), 1}}});
    for (int k = 1; k < size; ++k)
      schedule.round({Reduce{{Space::scratch, unit(k - 1), 1}, {}, Side::right}});
    return schedule.round({Finish{{}}});
  });
}

Rounds rounds_of(const Schedule& schedule) {
  Rounds rounds{};
  for (std::size_t round = 0; round < schedule.rounds(); ++round) {
    const auto steps = schedule.round(round);
    rounds.emplace_back(steps.begin(), steps.end());
  }
  return rounds;
}

Schedule schedule_of(const Rounds& rounds, const Schedule& like) {
  Schedule schedule{like.units(), like.planes()};
  for (const auto& steps : rounds) {
    for (const Step& step : steps) schedule.add(step);
    schedule.end_round();
  }
  return schedule;
}

Step with_slots(const Step& step, const Slots& slots) {
  switch (step.kind()) {
    case Step::Kind::send: return Send{step.peer(), slots};
    case Step::Kind::recv: return Recv{step.peer(), slots};
    case Step::Kind::recv_reduce: return RecvReduce{step.peer(), slots, step.side()};
    case Step::Kind::reduce: return Reduce{step.from(), slots, step.side()};
    case Step::Kind::copy: return Copy{step.from(), slots};
    case Step::Kind::finish: break;
  }
  return Finish{slots};
}

}  // namespace tutti::samples
