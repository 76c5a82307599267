"""`transform_pipeline`: its transforms by name, and their composition."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import cv2
import numpy as np

from hccl_kit.ocr.data import transforms
from hccl_kit.ocr.data.lines import line_augment, line_transforms, rec_augment
from hccl_kit.ocr.data.pages import copy_paste, db_maps, east_maps, page_moves, page_transforms
from hccl_kit.ocr.data.pages.views import join
from hccl_kit.ocr.data.samples import BadSampleError
from hccl_kit.ocr.data.transforms import Mix, Transform

TRANSFORMS: Mapping[str, Callable[..., Transform[Any]]] = {
    "DecodeImage": transforms.decode_image,
    "Decode": partial(transforms.decode_image, img_mode="RGB"),
    "NormalizeImage": transforms.normalize,
    "Normalize": transforms.normalize,
    "ToCHWImage": transforms.to_chw,
    "HWC2CHW": transforms.to_chw,
    "RandomColorAdjust": transforms.random_colour_adjust,
    **{
        step: partial(line_transforms.encode_label, max_text_len=longest)
        for step, longest in line_transforms.MAX_TEXT_LEN.items()
    },
    "ClsLabelEncode": line_transforms.encode_class,
    "RecResizeImg": line_transforms.resize,
    "SVTRRecResizeImg": line_transforms.resize_of_svtr,
    "RecResizeNormForInfer": line_transforms.resize_and_normalize,
    "Rotate90IfVertical": line_transforms.rotate_if_vertical,
    "DarkOnLight": line_transforms.dark_on_light,
    "SVTRGeometry": line_augment.geometry,
    "SVTRDeterioration": line_augment.deterioration,
    "CVColorJitter": transforms.colour_jitter,
    "SVTRRecAug": line_augment.svtr_augment,
    "RecAug": rec_augment.rec_augment,
    "RecConAug": rec_augment.join_lines,
    "DetLabelEncode": page_transforms.encode_label,
    "DetResize": page_transforms.resize,
    "ScalePadImage": page_transforms.scale_pad,
    "GridResize": page_transforms.grid_resize,
    "ValidatePolygons": page_transforms.validate_polygons,
    "RandomHorizontalFlip": page_moves.flip,
    "RandomRotate": page_moves.rotate,
    "RandomPerspective": page_moves.perspective,
    "RandomScale": page_moves.scale,
    "RandomCropWithBBox": page_moves.crop,
    "RandomCropWithMask": page_moves.crop_with_text,
    "CopyPaste": copy_paste.copy_paste,
    "IaaAugment": page_moves.iaa_augment,
    "ShrinkBinaryMap": db_maps.shrink_binary_map,
    "BorderMap": db_maps.border_map,
    "PSEGtDecode": db_maps.pse_gt_decode,
    "EASTProcessTrain": east_maps.east_process_train,
}


def pipeline(steps: Sequence[Mapping[str, Any]], *, without: Collection[str] = ()) -> Transform[Any]:
    """The composition of a configuration's transforms except `without`; OpenCV errors become BadSampleError."""
    made: list[Transform[Any]] = []
    for name, options in (row for step in steps for row in step.items()):
        if name in without:
            continue
        transform = TRANSFORMS[name](**(options or {}))
        made.append(replace(transform, prepare=_chain(made)) if isinstance(transform, Mix) else transform)
    whole = _chain(made)

    def apply(sample: Any, generator: np.random.Generator) -> Any:
        try:
            return whole(sample, generator)
        except cv2.error as error:  # such as for the rotation of an image with a side of more than 32,766 pixels
            raise BadSampleError(str(error).strip()) from error

    return apply


def _chain(transforms: Iterable[Transform[Any]]) -> Transform[Any]:
    """The transforms one after the other, consecutive moves joined."""
    joined = join(transforms)

    def apply(sample: Any, generator: np.random.Generator) -> Any:
        for transform in joined:
            sample = transform(sample, generator)
        return sample

    return apply
