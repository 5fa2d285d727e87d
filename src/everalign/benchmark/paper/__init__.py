"""Reproduction of the tables and figures of the ContEA paper from cached benchmark runs.

Each system is run over each dataset in one or more cells, each with a result file. Finished cells
are not run again. The pages compare the results of all finished cells with the published numbers.
"""

from everalign.benchmark.paper.cells import (
    BenchmarkCell,
    CellFailure,
    CellGrid,
    PaperDataset,
    open_datasets,
    run_cells,
)
from everalign.benchmark.paper.pages import make_pages, write_pages
from everalign.benchmark.paper.systems import SYSTEMS, ComparedSystem, select_systems

__all__ = [
    "SYSTEMS",
    "BenchmarkCell",
    "CellFailure",
    "CellGrid",
    "ComparedSystem",
    "PaperDataset",
    "make_pages",
    "open_datasets",
    "run_cells",
    "select_systems",
    "write_pages",
]
