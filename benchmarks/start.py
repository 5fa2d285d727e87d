"""Start-up time of the command line.

python benchmarks/start.py [--json OUT]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path


def measure_help() -> float:
    """Measure the seconds of `everalign --help`."""
    started = time.perf_counter()
    command = Path(sys.executable).with_name("everalign")
    subprocess.run([command, "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--json", type=Path, default=Path(__file__).parent / "results" / "start.json"
    )
    out = parser.parse_args().json
    result = {
        "help_seconds": statistics.median(measure_help() for _ in range(9)),
        "python": platform.python_version(),
    }
    out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
