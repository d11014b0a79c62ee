"""Trains a LightningModule on the ranks of torchrun, and prints its weights. The argument names the backend."""

from __future__ import annotations

import sys

import lightning
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader, TensorDataset

import tutti.torch  # registers the backend; not needed from PyTorch 2.14 on, where tutti is installed


class Line(lightning.LightningModule):
    """Learns y = 3 x - 1."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(1, 1)

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        x, y = batch
        loss = torch.nn.functional.mse_loss(self.line(x), y)
        self.log("loss", loss, sync_dist=True)
        return loss

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        x, y = batch
        self.log("error", (self.line(x) - y).abs().mean(), sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main() -> None:
    assert tutti.torch
    lightning.seed_everything(0)
    x = torch.linspace(-1, 1, 64).view(-1, 1)
    data = DataLoader(TensorDataset(x, 3 * x - 1), batch_size=8)
    module = Line()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=2,
        strategy=DDPStrategy(process_group_backend=sys.argv[1]),
        max_epochs=20,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, data, data)
    assert trainer.callback_metrics["error"] < 0.1
    used = torch.distributed.get_backend()
    weights = [x for p in module.parameters() for x in p.detach().flatten().tolist()]
    sys.stdout.write(f"rank {trainer.global_rank} {used} " + " ".join(f"{x:.5f}" for x in weights) + "\n")


if __name__ == "__main__":
    main()
