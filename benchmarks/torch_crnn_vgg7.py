"""The baseline of crnn_vgg7.py: the same network in PyTorch, on one batch."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import torch
from torch import nn

BLANK, CLASSES, HIDDEN = 36, 37, 256


def unit(
    before: int, after: int, *, kernel: int = 3, norm: bool = False, pool: tuple[int, int] | None = None
) -> list[nn.Module]:
    """Layer for layer a Unit of hccl_kit.ocr.models.vgg7."""
    cells: list[nn.Module] = [nn.Conv2d(before, after, kernel, padding=1 if kernel == 3 else 0)]
    cells += [nn.BatchNorm2d(after, eps=1e-4)] if norm else []
    cells += [nn.MaxPool2d(pool, pool)] if pool else []
    return [*cells, nn.ReLU()]


class Crnn(nn.Module):
    """Layer for layer the network of hccl_kit.ocr.models.crnn with the backbone vgg7."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            *unit(3, 64, pool=(2, 2)),
            *unit(64, 128, pool=(2, 2)),
            *unit(128, 256, norm=True),
            *unit(256, 256, pool=(2, 1)),
            *unit(256, 512, norm=True),
            *unit(512, 512, pool=(2, 1)),
            *unit(512, 512, kernel=2, norm=True),
        )
        self.neck = nn.LSTM(512, HIDDEN, num_layers=2, bidirectional=True)
        self.head = nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        sequence, _ = self.neck(self.backbone(images).squeeze(2).permute(2, 0, 1))
        return self.head(sequence)


def main() -> None:
    """Arguments: batch size, steps, threads, layout. Prints seconds per step (median) and parameters as JSON."""
    batch, steps, threads = map(int, sys.argv[1:4])
    order = getattr(torch, sys.argv[4])
    torch.set_num_threads(threads)
    generator = np.random.default_rng(0)
    images = torch.tensor(generator.standard_normal((batch, 3, 32, 100)).astype(np.float32))
    images = images.contiguous(memory_format=order)
    labels = torch.tensor(generator.integers(0, BLANK, (batch, 5)))
    lengths = torch.full((batch,), 5)
    network = Crnn().to(memory_format=order)
    optimizer = torch.optim.AdamW(network.parameters(), 5e-4)
    loss_of = nn.CTCLoss(BLANK)
    seconds, processor = [], []
    for _ in range(steps):
        started, used = time.perf_counter(), time.process_time()
        logits = network(images).log_softmax(2)
        loss = loss_of(logits, labels, torch.full((batch,), logits.shape[0]), lengths)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 5.0)
        optimizer.step()
        seconds.append(time.perf_counter() - started)
        processor.append(time.process_time() - used)
    result = {
        "seconds": float(np.median(seconds[steps // 5 :])),
        "processor": float(np.median(processor[steps // 5 :])),
        "parameters": sum(p.numel() for p in network.parameters()),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
