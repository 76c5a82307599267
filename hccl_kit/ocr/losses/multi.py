"""The loss of a head for CTC with a guiding decoder, as PP-OCR trains its recognisers."""

from __future__ import annotations

from mindspore import Tensor, nn, ops

from hccl_kit.ocr.losses.ctc import CTCLoss

SMOOTHING = 0.1
"""The share of each target of the decoder that is spread over the other tokens."""


class MultiLoss(nn.Cell):
    """CTC's loss plus the decoder's: the mean cross-entropy, with smoothing, of all tokens that are not `padding`.

    Inputs: logits of CTC (T, N, classes) and of the decoder (N, L - 1, tokens), float32; labels (N, ...) and their
    lengths (N,), int32, see `CTCLoss`; tokens (N, L) int32: start, the characters, end, padding.
    """

    def __init__(self, blank: int, padding: int) -> None:
        super().__init__()
        self.ctc = CTCLoss(blank)
        self.padding = padding

    def construct(self, prediction: tuple[Tensor, Tensor], labels: Tensor, lengths: Tensor, tokens: Tensor) -> Tensor:
        of_ctc, of_decoder = prediction
        wanted = tokens[:, 1:]
        counted = ops.cast(wanted != self.padding, of_decoder.dtype)
        logs = ops.log_softmax(of_decoder, 2)
        right = ops.squeeze(ops.gather_elements(logs, 2, ops.expand_dims(wanted, 2)), 2)
        other = (ops.reduce_sum(logs, 2) - right) / (of_decoder.shape[2] - 1)
        losses = -((1 - SMOOTHING) * right + SMOOTHING * other)
        return self.ctc(of_ctc, labels, lengths) + ops.reduce_sum(losses * counted) / ops.reduce_sum(counted)
