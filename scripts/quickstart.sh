#!/usr/bin/env bash
# From a fresh machine to a trained model: installs into .venv, then two ranks train a small CRNN on word images.
# No NPU, no root, no data to download; under five minutes on two cores after the install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/python_env.sh

install_into_venv all
export PATH="$PWD/.venv/bin:$PATH"
config=configs/rec/crnn/crnn_small.yaml

[ -e data/words/test_gt.txt ] || show python tools/render_words.py --output data/words
show hccl-gen --device_num "[0,2)" --simulate
show hccl-check hccl_2p_01_127.0.0.1.json
show bash ascend2p.sh
show python tools/predict.py --config "$config" --images data/words/test --labels data/words/test_gt.txt --limit 12 \
    --picture runs/crnn_small/readings.png --force

printf '\nEach line: image, recognized text, confidence, ground truth. No word is in the training data.\n'
printf 'The picture: runs/crnn_small/readings.png   The figures: runs/crnn_small/summary.json\n'
