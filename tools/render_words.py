"""`hccl-kit render-words` for a checkout: python tools/render_words.py --help"""

from hccl_kit.ocr.programs.render_words import main

if __name__ == "__main__":
    raise SystemExit(main())
