"""Read lines with a file of hccl-kit export (CTC, RecResizeImg): python read_onnx.py best.onnx IMAGE ..."""

import json
import math
import sys

import cv2
import onnxruntime

if len(sys.argv) < 3 or "--help" in sys.argv:
    sys.exit(__doc__)
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
facts = session.get_modelmeta().custom_metadata_map
characters, mean, std, padding = (json.loads(facts[key]) for key in ("characters", "mean", "std", "padding"))
source = session.get_inputs()[0]
batch, _, height, wide = (size if isinstance(size, int) else None for size in source.shape)  # None: any
for path in sys.argv[2:]:
    image = cv2.imread(path)
    image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB) if facts["colours"] == "RGB" else image
    exact = max(8, math.ceil(height * image.shape[1] / image.shape[0]))
    width = wide or exact
    inner = min(width, exact) if padding else width
    image = cv2.resize(image, (inner, height), interpolation=cv2.INTER_LINEAR)
    image = cv2.copyMakeBorder(image, 0, 0, 0, width - inner, cv2.BORDER_CONSTANT, value=padding and padding["value"])
    images = ((image - mean) / std).transpose(2, 0, 1)[None].repeat(batch or 1, 0).astype("float32")
    classes = session.run(None, {source.name: images})[0][0].argmax(1)
    seen = [number for number, before in zip(classes, [None, *classes], strict=False) if number != before]
    print(path, "".join(characters[number] or "" for number in seen), sep="\t")
