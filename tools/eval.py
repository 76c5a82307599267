"""`hccl-kit eval` for a checkout: python tools/eval.py --help"""

from hccl_kit.ocr.programs.eval import main

if __name__ == "__main__":
    main()
