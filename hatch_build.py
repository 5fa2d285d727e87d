"""Puts the archive of compiled kernels into the wheel, if it has been built.

`make wheel` builds it first (`python -m everalign._kernel_build`). A wheel that is built from the
source distribution has none: it works on every platform, and kernels are compiled at first use.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelArchiveHook(BuildHookInterface[Any]):
    """A hook of hatchling."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the archive, and let the wheel be one for this Python and platform.

        Args:
            version: Kind of wheel: "standard" or "editable".
            build_data: What to build; changed in place.
        """
        name = f"kernels.{sys.implementation.cache_tag}.zip"
        archive = Path(self.root) / "src" / "everalign" / name
        is_pure = bool(os.environ.get("EVERALIGN_PURE_WHEEL"))
        # An editable installation finds the archive where it is.
        if version == "editable" or is_pure or not archive.is_file():
            return
        build_data["force_include"][str(archive)] = f"everalign/{name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
