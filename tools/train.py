"""`hccl-kit train` for a checkout: python tools/train.py --help"""

from hccl_kit.ocr.programs.train import main

if __name__ == "__main__":
    main()
