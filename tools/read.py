"""`hccl-kit read` for a checkout: python tools/read.py --help"""

from hccl_kit.ocr.programs.read import main

if __name__ == "__main__":
    main()
