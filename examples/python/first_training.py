"""A first training on all ranks: tutti run -n 2 python examples/python/first_training.py

Each rank has samples of its own. The ranks reduce the gradients, so that all of them end with the same weights.
"""

import torch

import tutti.torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
sync = tutti.torch.attach(model, optimizer)  # all ranks get the weights of rank 0
for x in torch.randn(200, 32, 4):
    optimizer.zero_grad(set_to_none=False)
    (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
    optimizer.step()  # waits for the means of the gradients

print(f"{sync.world.size} ranks, weights {model.weight.tolist()[0]}")
