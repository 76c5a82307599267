"""The baseline of train_step.py: a PyTorch CRNN of the same shape, on the same batches.

train_step.py starts one process per rank with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np
import torch
from torch import nn

BLANK, CLASSES, HIDDEN = 36, 37, 48
CHANNELS = (32, 32, 64, 64, 96)


class Crnn(nn.Module):
    """Layer for layer the network of hccl_kit.ocr.models.crnn_small."""

    def __init__(self) -> None:
        super().__init__()
        one, two, three, four, five = CHANNELS
        self.features = nn.Sequential(
            *self.stage(3, one, stride=(2, 2)),
            *self.stage(one, two, pool=(2, 2)),
            *self.stage(two, three),
            *self.stage(three, four, pool=(2, 1)),
            nn.Conv2d(four, five, (4, 1), bias=False),
            nn.BatchNorm2d(five),
            nn.ReLU(),
        )
        self.neck = nn.LSTM(five, HIDDEN, bidirectional=True)
        self.head = nn.Linear(five + 2 * HIDDEN, CLASSES)

    @staticmethod
    def stage(
        before: int, after: int, *, stride: tuple[int, int] = (1, 1), pool: tuple[int, int] | None = None
    ) -> list[nn.Module]:
        convolution = nn.Conv2d(before, after, 3, stride=stride, padding=1, bias=False)
        cells = [convolution, nn.BatchNorm2d(after), nn.ReLU()]
        return [*cells, nn.MaxPool2d(pool, pool)] if pool else cells

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.features(images).squeeze(2).permute(2, 0, 1)
        sequence, _ = self.neck(features)
        return self.head(torch.cat((features, sequence), 2))


def main() -> None:
    """Arguments: batch size, steps, threads, layout. Prints seconds per step (median) and parameters as JSON."""
    batch, steps, threads = map(int, sys.argv[1:4])
    order = getattr(torch, sys.argv[4])
    torch.set_num_threads(threads)
    rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if size > 1:
        torch.distributed.init_process_group("gloo")
    generator = np.random.default_rng(rank)
    images = torch.tensor(generator.standard_normal((batch, 3, 32, 100)).astype(np.float32))
    images = images.contiguous(memory_format=order)
    labels = torch.tensor(generator.integers(0, BLANK, (batch, 5)))
    lengths = torch.full((batch,), 5)
    network = Crnn().to(memory_format=order)
    parameters = sum(p.numel() for p in network.parameters())
    model = nn.parallel.DistributedDataParallel(network) if size > 1 else network
    optimizer = torch.optim.AdamW(network.parameters(), 1e-3)
    loss_of = nn.CTCLoss(BLANK)
    seconds = []
    for _ in range(steps):
        started = time.perf_counter()
        logits = model(images).log_softmax(2)
        loss = loss_of(logits, labels, torch.full((batch,), logits.shape[0]), lengths)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        seconds.append(time.perf_counter() - started)
    if rank == 0:
        print(json.dumps({"seconds": float(np.median(seconds[steps // 5 :])), "parameters": parameters}))


if __name__ == "__main__":
    main()
