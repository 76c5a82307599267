"""The baseline of time_to_accuracy.py: a PyTorch CRNN of the same shape, trained by the same recipe.

All images are prepared before the first step, once; nothing is saved. The lines are those of our trainer's log.
"""

from __future__ import annotations

import json
import math
import string
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import nn

from benchmarks.torch_crnn import BLANK, Crnn

CHARACTERS = string.digits + string.ascii_lowercase
HEIGHT, WIDTH, AT_ONCE = 32, 100, 32


def read(folder: Path, part: str, layout: torch.memory_format) -> tuple[torch.Tensor, list[str]]:
    """The prepared images and the texts of `part`, train or test."""
    images, texts = [], []
    for row in (folder / f"{part}_gt.txt").read_text(encoding="utf-8").splitlines():
        name, text = row.split("\t")
        image = cv2.imread(str(folder / part / name))
        width = min(WIDTH, math.ceil(HEIGHT * image.shape[1] / image.shape[0]))
        small = cv2.resize(image, (width, HEIGHT))
        images.append(cv2.copyMakeBorder(small, 0, 0, 0, WIDTH - width, cv2.BORDER_CONSTANT))
        texts.append(text.lower())
    pixels = np.stack(images)[..., ::-1].transpose(0, 3, 1, 2).astype(np.float32)
    return torch.tensor((pixels - 127) / 127).contiguous(memory_format=layout), texts


def text_of(classes: list[int]) -> str:
    """The text of the most probable classes of the columns."""
    pairs = zip(classes, [BLANK, *classes], strict=False)
    return "".join(CHARACTERS[one] for one, before in pairs if one not in (before, BLANK))


def right(network: nn.Module, images: torch.Tensor, texts: list[str]) -> int:
    """The number of words that are read correctly."""
    network.eval()
    with torch.no_grad():
        best = torch.cat([network(part).argmax(2).T for part in images.split(AT_ONCE)])
    network.train()
    return sum(text_of(row) == text for row, text in zip(best.tolist(), texts, strict=True))


def main() -> None:
    """Reads the recipe from standard input, as JSON."""
    recipe: dict[str, Any] = json.load(sys.stdin)
    torch.set_num_threads(recipe["threads"])
    torch.manual_seed(recipe["seed"])
    layout = getattr(torch, recipe["layout"])
    images, texts = read(Path(recipe["folder"]), "train", layout)
    test_images, test_texts = read(Path(recipe["folder"]), "test", layout)
    lengths = torch.tensor([len(text) for text in texts])
    labels = torch.zeros((len(texts), int(lengths.max())), dtype=torch.long)
    for row, text in zip(labels, texts, strict=True):
        row[: len(text)] = torch.tensor([CHARACTERS.index(character) for character in text])

    network = Crnn().to(memory_format=layout)
    parameters = list(network.parameters())
    print(f"{sum(p.numel() for p in parameters)} parameters to train", flush=True)
    loss_of = nn.CTCLoss(BLANK, reduction="none")
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe["weight_decay"]},
        {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, 1.0)

    def evaluate(step: int) -> None:
        count = right(network, test_images, test_texts)
        print(f"evaluation after step {step}: {count} of {len(test_texts)} words right", flush=True)

    evaluate(0)
    batch = recipe["batch"]
    steps_per_epoch = len(texts) // batch
    order = torch.empty(0)
    for step, rate in enumerate(recipe["rates"]):
        position = step % steps_per_epoch * batch
        if position == 0:
            order = torch.randperm(len(texts))
        chosen = order[position : position + batch]
        for group in optimizer.param_groups:
            group["lr"] = rate
        logits = network(images[chosen]).log_softmax(2)
        loss = loss_of(logits, labels[chosen], torch.full((batch,), logits.shape[0]), lengths[chosen]).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, recipe["clip_norm"])
        optimizer.step()
        if (step + 1) % steps_per_epoch == 0:
            evaluate(step + 1)


if __name__ == "__main__":
    main()
