"""`hccl-kit predict` for a checkout: python tools/predict.py --help"""

from hccl_kit.ocr.programs.predict import main

if __name__ == "__main__":
    main()
