"""Runs the command line as ``python -m bottleneck_kit``."""

import sys

from bottleneck_kit.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
