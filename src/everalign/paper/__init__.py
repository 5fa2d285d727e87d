"""The tables and figures of the ContEA paper, made from runs that are cached and resume.

A system is run over a dataset in cells; a cell that is there is not run again. The pages are
made from the cells that are there, beside the numbers that the paper gives.
"""

from everalign.paper.cells import Cell, Cells, Dataset, datasets_of
from everalign.paper.pages import make_pages, write_pages
from everalign.paper.running import Failure, run_cells
from everalign.paper.systems import SYSTEMS, System, chosen_systems

__all__ = [
    "SYSTEMS",
    "Cell",
    "Cells",
    "Dataset",
    "Failure",
    "System",
    "chosen_systems",
    "datasets_of",
    "make_pages",
    "run_cells",
    "write_pages",
]
