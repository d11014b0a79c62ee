"""Trains on rows of other ranks: while one batch trains, the rows of the next batches travel.

    tutti run -n 4 python examples/python/pipeline.py             two batches travel
    tutti run -n 4 python examples/python/pipeline.py --depth 0   rows travel when their batch is due

Each rank keeps a part of a table, as in training on a graph or with large embeddings. Training has three
stages: the sampler chooses rows of all ranks, the gather fetches them, the trainer uses them. Both commands end
with the same weights.
"""

from __future__ import annotations

import argparse
import collections
import time

import numpy as np

import tutti

FEATURES, BATCH, ROWS = 256, 2000, 20_000  # ROWS on each rank
world = tutti.init(progress_thread=True)  # rows travel while numpy computes
gathering = world.group(range(world.size))  # its calls need not follow those of the trainer

table = np.random.default_rng(world.rank).standard_normal((ROWS, FEATURES), np.float32)
truth = np.random.default_rng(99).standard_normal(FEATURES, np.float32)


def sample(step: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """The owner and the index there of each row in a rank's batch, by owner. Every rank can compute it."""
    random = np.random.default_rng((step, rank))
    owners = np.sort(random.integers(world.size, size=BATCH))
    return owners, random.integers(ROWS, size=BATCH)


def gather(step: int) -> tuple[np.ndarray, tutti.Request]:
    """Starts to fetch the rows of a batch."""
    wanted = [sample(step, rank) for rank in range(world.size)]
    given = [table[rows[owners == world.rank]] for owners, rows in wanted]
    received = np.bincount(wanted[world.rank][0], minlength=world.size)
    batch = np.empty((BATCH, FEATURES), np.float32)
    counts = ([rows.size for rows in given], [int(count) * FEATURES for count in received])
    return batch, gathering.start.all_to_all(np.concatenate(given), batch, counts=counts)


def train(weights: np.ndarray, x: np.ndarray) -> float:
    error = x @ weights - x @ truth
    gradient = x.T @ error / len(x)
    world.all_reduce(gradient, op="average")
    weights -= 0.1 * gradient
    return float((error**2).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depth", type=int, default=2, help="batches that travel while another one trains")
    parser.add_argument("--steps", type=int, default=50)
    options = parser.parse_args()

    weights = np.zeros(FEATURES, np.float32)
    travelling = collections.deque(gather(step) for step in range(min(options.depth, options.steps)))
    loss = waited = 0.0
    begin = time.perf_counter()
    for step in range(options.steps):
        if step + options.depth < options.steps:
            travelling.append(gather(step + options.depth))
        batch, request = travelling.popleft()
        asked = time.perf_counter()
        request.wait()
        waited += time.perf_counter() - asked
        loss = train(weights, batch)
    took = time.perf_counter() - begin
    if world.rank == 0:
        each, wait = 1e3 * took / options.steps, 1e3 * waited / options.steps
        print(f"{world.size} ranks: {each:.1f} ms a step, {wait:.1f} of them waiting for rows")
        print(f"loss {loss:.6f}, sum of weights {weights.sum():.6f}")


if __name__ == "__main__":
    main()
