"""Images per second of DBNet's training pipeline, against a plain implementation.

python -m benchmarks.detection_pipeline [--dataset_root DIR --data_dir IMAGES --label_file LABELS] [--size 640]

The steps are those of db_r18_icdar15 in MindOCR: decode, colour, flip, rotate, scale, crop that keeps text, the four
target maps, normalise. The plain way does each step on the whole image with Pillow and numpy, as papers describe it;
it exists only for this comparison. Both read the same pages in turn. The pages are drawn (1280 x 720 JPEG, 20 texts)
unless a data set is given.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import shapely
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageEnhance

from benchmarks.row import Row
from hccl_kit.ocr.data.pages.page_labels import read_pages
from hccl_kit.ocr.data.pages.pages import Page
from hccl_kit.ocr.data.pipeline import pipeline
from hccl_kit.ocr.data.transforms import IMAGENET

PAGES, TEXTS = 24, 20
ROUNDS = 5
Array = NDArray[Any]


def steps(size: int) -> list[dict[str, Any]]:
    """The training pipeline of db_r18_icdar15."""
    return [
        {"DecodeImage": {"img_mode": "RGB"}},
        {"DetLabelEncode": None},
        {"RandomColorAdjust": {"brightness": 32 / 255, "saturation": 0.5}},
        {"RandomHorizontalFlip": {"p": 0.5}},
        {"RandomRotate": {"degrees": [-10, 10], "expand_canvas": False, "p": 1.0}},
        {"RandomScale": {"scale_range": [0.5, 3.0], "p": 1.0}},
        {"RandomCropWithBBox": {"max_tries": 10, "min_crop_ratio": 0.1, "crop_size": [size, size], "p": 1.0}},
        {"ValidatePolygons": None},
        {"ShrinkBinaryMap": {"min_text_size": 8, "shrink_ratio": 0.4}},
        {"BorderMap": {"shrink_ratio": 0.4, "thresh_min": 0.3, "thresh_max": 0.7}},
        {"NormalizeImage": {"mean": "imagenet", "std": "imagenet"}},
        {"ToCHWImage": None},
    ]


def plain(page: Page, generator: np.random.Generator, size: int) -> tuple[Array, ...]:
    """The plain implementation of the training pipeline: the image (3, size, size) and the four maps."""
    image = Image.open(page.path).convert("RGB")
    image = ImageEnhance.Brightness(image).enhance(generator.uniform(1 - 32 / 255, 1 + 32 / 255))
    image = ImageEnhance.Color(image).enhance(generator.uniform(0.5, 1.5))
    polys = page.polys.astype(float)
    if generator.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        polys[..., 0] = image.width - 1 - polys[..., 0]
    degrees = generator.uniform(-10, 10)
    image = image.rotate(degrees, Image.Resampling.BILINEAR)
    centre = np.array([image.width / 2, image.height / 2])
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    polys = (polys - centre) @ np.array([[cos, -sin], [sin, cos]]) + centre
    scale = generator.uniform(0.5, 3)
    image = image.resize((round(image.width * scale), round(image.height * scale)), Image.Resampling.BILINEAR)
    pixels, polys = plain_crop(np.asarray(image), polys * scale, page.ignored, generator, size)
    maps = plain_maps(polys, page.ignored, size)
    normal = (pixels.astype(np.float32) - np.array(IMAGENET["mean"], np.float32)) / np.array(
        IMAGENET["std"], np.float32
    )
    return np.ascontiguousarray(normal.transpose(2, 0, 1)), *maps


def plain_crop(
    pixels: Array, polys: Array, ignored: Array, generator: np.random.Generator, size: int
) -> tuple[Array, Array]:
    """A part between texts, scaled and padded to size x size."""
    height, width = pixels.shape[:2]
    part = 0, 0, height, width
    for _ in range(10):
        top, bottom = sorted(generator.integers(0, height, 2))
        left, right = sorted(generator.integers(0, width, 2))
        if bottom - top < height * 0.1 or right - left < width * 0.1:
            continue
        lows, highs = polys[~ignored].min(1), polys[~ignored].max(1)
        inside = ((lows > (left, top)) & (highs < (right, bottom))).all(1)
        outside = ((highs < (left, top)) | (lows > (right, bottom))).any(1)
        if inside.any() and (inside | outside).all():
            part = top, left, bottom, right
            break
    top, left, bottom, right = part
    scale = min(size / (bottom - top), size / (right - left))
    shape = max(1, min(size, round((right - left) * scale))), max(1, min(size, round((bottom - top) * scale)))
    small = np.asarray(Image.fromarray(pixels[top:bottom, left:right]).resize(shape, Image.Resampling.BILINEAR))
    canvas = np.zeros((size, size, 3), np.uint8)
    canvas[: small.shape[0], : small.shape[1]] = small
    return canvas, (polys - (left, top)) * scale


def plain_maps(polys: Array, ignored: Array, size: int) -> tuple[Array, ...]:
    """Shrink map, its mask, threshold map and its mask, each polygon in a loop."""
    binary, mask, near = Image.new("1", (size, size)), Image.new("1", (size, size), 1), Image.new("1", (size, size))
    thresh = np.zeros((size, size), np.float32)
    frame = shapely.box(0, 0, size, size)
    for poly, ignore in zip(polys, ignored, strict=True):
        shape = shapely.Polygon(poly)
        if not shape.is_valid or not shape.intersects(frame):
            continue
        distance = shape.area * (1 - 0.4**2) / shape.length
        small, large = shape.buffer(-distance), shape.buffer(distance)
        if ignore or np.ptp(poly, axis=0).min() < 8 or small.geom_type != "Polygon" or small.is_empty:
            ImageDraw.Draw(mask).polygon(list(map(tuple, poly)), fill=0)
            continue
        ImageDraw.Draw(binary).polygon(list(small.exterior.coords), fill=1)
        ImageDraw.Draw(near).polygon(list(large.exterior.coords), fill=1)
        left, top, right, bottom = (int(value) for value in np.clip(large.bounds, 0, size))
        ys, xs = np.mgrid[top:bottom, left:right]
        edges = [to_edge(xs, ys, poly[n - 1], poly[n]) for n in range(len(poly))]
        if edges[0].size:
            value = 1 - np.clip(np.min(edges, axis=0) / distance, 0, 1)
            thresh[top:bottom, left:right] = np.maximum(thresh[top:bottom, left:right], value)
    return (
        np.asarray(binary, np.float32),
        np.asarray(mask, np.float32),
        thresh * 0.4 + 0.3,
        np.asarray(near, np.float32),
    )


def to_edge(xs: Array, ys: Array, start: Array, end: Array) -> Array:
    """The distance of each pixel to a segment."""
    run = end - start
    share = np.clip(((xs - start[0]) * run[0] + (ys - start[1]) * run[1]) / max(run @ run, 1e-6), 0, 1)
    return np.hypot(xs - start[0] - share * run[0], ys - start[1] - share * run[1])


def draw_pages(root: Path) -> dict[str, Any]:
    """A data set of pages 1280 x 720 with TEXTS texts each."""
    generator = np.random.default_rng(0)
    for name in ("images", "gt"):
        (root / name).mkdir()
    for number in range(PAGES):
        image = cv2.GaussianBlur(generator.integers(0, 256, (720, 1280, 3), np.uint8), (0, 0), 3)
        rows = []
        for n in range(TEXTS):
            left, top = 40 + 240 * (n % 5), 60 + 170 * (n // 5)
            cv2.putText(image, f"text {n}", (left, top + 40), cv2.FONT_HERSHEY_SIMPLEX, 1.5, (255, 255, 255), 3)
            rows.append(f"{left},{top},{left + 180},{top},{left + 180},{top + 50},{left},{top + 50},text {n}\n")
        (root / "images" / f"img_{number}.jpg").write_bytes(cv2.imencode(".jpg", image)[1].tobytes())
        (root / "gt" / f"gt_img_{number}.txt").write_text("".join(rows), encoding="utf-8")
    return {"dataset_root": str(root), "data_dir": "images", "label_file": "gt"}


def rate(make: Callable[[int], object], count: int, threads: int) -> float:
    """Images per second of one pass over the pages."""
    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(make, range(count)))
    return count / (time.perf_counter() - started)


def measured(pages: Sequence[Page], size: int, rounds: int) -> Iterator[tuple[int, list[dict[str, float]]]]:
    """For one and for two threads, the images per second of both ways in each round."""
    ours = pipeline(steps(size))
    ways: dict[str, Callable[[int], object]] = {
        "plain": lambda n: plain(pages[n], np.random.default_rng(n), size),
        "ours": lambda n: ours(pages[n], np.random.default_rng(n)),
    }
    for threads in (1, 2):
        yield threads, [{name: rate(make, len(pages), threads) for name, make in ways.items()} for _ in range(rounds)]


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`."""
    cv2.setNumThreads(0)
    with tempfile.TemporaryDirectory() as folder:
        pages, _ = read_pages(draw_pages(Path(folder)))
        for threads, found in measured(pages, 640, ROUNDS if full else 2):
            ours, plain = (statistics.median(row[name] for row in found) for name in ("ours", "plain"))
            yield Row(
                f"preparing pages for DBNet, threads: {threads}", "a plain implementation", "pages/s", ours, plain
            )


def compare(pages: Sequence[Page], size: int) -> None:
    """Print a row for one and for two threads."""
    print("threads   plain img/s   ours img/s   ratio   (medians; range of the ratio)")
    for threads, found in measured(pages, size, ROUNDS):
        slow, fast = (statistics.median(row[name] for row in found) for name in ("plain", "ours"))
        ratios = [row["ours"] / row["plain"] for row in found]
        print(
            f"{threads:>7}{slow:>14.1f}{fast:>13.1f}{statistics.median(ratios):>8.1f}"
            f"   ({min(ratios):.1f} to {max(ratios):.1f})"
        )


def main() -> None:
    """Compare, on drawn pages or on a data set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dataset_root", type=Path, help="a data set as in the section train.dataset")
    parser.add_argument("--data_dir", default="images")
    parser.add_argument("--label_file", default="gt")
    parser.add_argument("--size", type=int, default=640, help="sides of the crop (default: %(default)s)")
    args = parser.parse_args()
    cv2.setNumThreads(0)
    with tempfile.TemporaryDirectory() as folder:
        named = {"dataset_root": args.dataset_root, "data_dir": args.data_dir, "label_file": args.label_file}
        pages, _ = read_pages(named if args.dataset_root else draw_pages(Path(folder)))
        compare(pages[:PAGES], args.size)


if __name__ == "__main__":
    main()
