"""`hccl-kit convert-dataset` for a checkout: python tools/convert_dataset.py --help"""

from hccl_kit.ocr.programs.convert_dataset import main

if __name__ == "__main__":
    raise SystemExit(main())
