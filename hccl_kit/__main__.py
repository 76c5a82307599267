"""`python -m hccl_kit` is `hccl-kit`."""

from hccl_kit.cli.kit import main

if __name__ == "__main__":
    raise SystemExit(main())
