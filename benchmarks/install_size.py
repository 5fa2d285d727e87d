"""Size of an installation of a wheel with the packages that it requires, without extras.

python benchmarks/install_size.py LABEL WHEEL [--json OUT]

Installs into an empty directory with the versions of constraints.txt and sums up the files of each
package, bytecode included. The result file has one entry for each LABEL, such as "before".
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "install_size.json"


def measure_package(package: Distribution) -> int:
    """Measure the bytes of all files that a package has installed."""
    paths = [Path(str(package.locate_file(file))) for file in package.files or ()]
    return sum(path.stat().st_size for path in paths if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("label")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    with TemporaryDirectory() as target:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        constraints = ["--constraint", str(ROOT / "constraints.txt")]
        subprocess.run([*pip, *constraints, "--target", target, options.wheel], check=True)
        installed = sorted(distributions(path=[target]), key=lambda package: package.name)
        sizes = {package.name: measure_package(package) for package in installed}
        total = sum(path.stat().st_size for path in Path(target).rglob("*") if path.is_file())
    megabytes = {name: round(size / 1e6, 1) for name, size in sizes.items()}
    result = json.loads(options.json.read_text()) if options.json.exists() else {}
    result[options.label] = {
        "wheel": options.wheel.name,
        "wheel_mb": round(options.wheel.stat().st_size / 1e6, 2),
        "total_mb": round(total / 1e6, 1),
        "packages_mb": dict(sorted(megabytes.items(), key=lambda item: -item[1])),
        "python": platform.python_version(),
        "system": f"{sys.platform}-{platform.machine()}",
    }
    options.json.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result[options.label], indent=1))


if __name__ == "__main__":
    main()
