"""Estimates pi with all ranks, with numpy alone:  tutti run -n 4 python examples/python/average.py"""

import numpy as np

import tutti

world = tutti.init()
random = np.random.default_rng(world.rank)
points = random.random((1_000_000, 2))
inside = float(np.count_nonzero((points**2).sum(axis=1) < 1)) / len(points)

pi = 4 * world.all_reduce(inside, op="average")  # a number in, a number out
errors = world.objects.gather({"rank": world.rank, "error": 4 * inside - np.pi})  # only rank 0 gets them
if errors is not None:
    for each in errors:
        print(f"rank {each['rank']} alone is off by {each['error']:+.5f}")
    print(f"together they find {pi:.5f}")
