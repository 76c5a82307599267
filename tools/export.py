"""`hccl-kit export` for a checkout: python tools/export.py --help"""

from hccl_kit.ocr.programs.export import main

if __name__ == "__main__":
    main()
