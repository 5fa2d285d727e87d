"""The command that tells what an alignment will cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everalign.cli.inputs import FILE, combine_options, format_examples, json_option
from everalign.cli.memory_options import ByteSize
from everalign.cli.output import (
    ProgressBar,
    format_bytes,
    format_duration,
    print_json,
    print_table,
)
from everalign.cli.sources import GRAPH

if TYPE_CHECKING:
    from everalign.planning.costs import GraphCounts
    from everalign.planning.plan import AlignmentPlan, OperationCost

_SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")


class DeltaSize(click.ParamType[float]):
    """A number of statements, or a share of them such as 1%."""

    name = "N"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Parse a number or a share.

        Args:
            value: The text, or a value that is converted already.
            param: The parameter, for the message.
            ctx: The context, for the message.

        Returns:
            A number of statements from 1 on, or a share below 1.

        Raises:
            click.BadParameter: The text is neither.

        Example:
            >>> DeltaSize().convert("5000", None, None), DeltaSize().convert("2%", None, None)
            (5000.0, 0.02)
        """
        if isinstance(value, float):
            return value
        share = _SHARE.fullmatch(value.strip())
        if share and 0 < float(share[1]) < 100:
            return float(share[1]) / 100
        is_number = value.isdecimal() and len(value) < 16 and int(value) >= 1
        if not is_number:
            problem = "expected a number of statements or a share such as 1%"
            self.fail(f"{problem}, found {value!r}", param, ctx)
        return float(value)


def _count_option(name: str, text: str) -> Any:
    return click.option(name, type=click.IntRange(min=0), metavar="N", help=text)


count_options = combine_options(
    _count_option("--left-triples", "Triples of the left graph, instead of files."),
    _count_option("--right-triples", "Triples of the right graph, instead of files."),
    _count_option("--left-entities", "With --left-triples: entities of the left graph."),
    _count_option("--right-entities", "With --right-triples: entities of the right graph."),
    _count_option("--left-literals", "With --left-triples: literals of the left graph."),
    _count_option("--right-literals", "With --right-triples: literals of the right graph."),
)


@click.command(
    epilog=format_examples(
        "everalign plan --left zh.nt.gz --right en.nt.gz --seeds seeds.tsv",
        "everalign plan --left zh.nt.gz --right en.nt.gz --delta 5000 --memory 4GB",
        "everalign plan --left-triples 400000000 --right-triples 900000000 --workers 64",
        "everalign plan --left-triples 1000000 --right-triples 1000000 --no-sample --json",
    )
)
@click.option(
    "--left",
    type=GRAPH,
    multiple=True,
    help="Files of the left graph. Optionally compressed; may be repeated.",
)
@click.option(
    "--right",
    type=GRAPH,
    multiple=True,
    help="Files of the right graph. Optionally compressed; may be repeated.",
)
@click.option("--seeds", type=FILE, help="Trusted links, around which the sample is chosen.")
@count_options
@click.option(
    "--delta",
    type=DeltaSize(),
    default="1%",
    show_default=True,
    help="What an update adds or removes: a number of statements, or a share such as 1%.",
)
@click.option(
    "--memory",
    type=ByteSize(),
    show_default="that of this machine",
    help="Memory that may be used, such as 4GB.",
)
@click.option(
    "--cores",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="those of this machine",
    help="Cores that may be used.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Also tell the time with so many cores of workers of Apache Spark.",
)
@click.option(
    "--sample-triples",
    type=click.IntRange(min=2000),
    default=30_000,
    show_default=True,
    metavar="N",
    help="Size of the sample that is aligned to learn how fast this machine is.",
)
@click.option(
    "--no-sample",
    is_flag=True,
    help="Align no sample; use the stored speed of another machine.",
)
@json_option
def plan(
    left: tuple[Path | str, ...],
    right: tuple[Path | str, ...],
    seeds: Path | None,
    left_triples: int | None,
    right_triples: int | None,
    left_entities: int | None,
    right_entities: int | None,
    left_literals: int | None,
    right_literals: int | None,
    delta: float,
    memory: int | None,
    cores: int | None,
    workers: int | None,
    sample_triples: int,
    no_sample: bool,
    as_json: bool,
) -> None:
    """Estimate time, memory and disk of an alignment.

    Counts what is in the files, or takes the numbers that are given, and tells what `init` and
    `update` with the default method will cost, step by step. A sample is aligned first (some ten
    seconds) to learn how fast this machine is. Nothing is written. Large files are not read whole:
    their size and some parts tell how much is in them. What the numbers rest on is printed with
    them.
    """
    from everalign.planning.plan import plan_alignment

    numbers = (
        _build_counts("left", left, left_triples, left_entities, left_literals),
        _build_counts("right", right, right_triples, right_entities, right_literals),
    )
    with ProgressBar() as bar:
        found = plan_alignment(
            list(left) or None,
            list(right) or None,
            seeds,
            left_counts=numbers[0],
            right_counts=numbers[1],
            delta=delta,
            memory_bytes=memory,
            cores=cores,
            workers=workers,
            sample_statements=0 if no_sample else sample_triples,
            progress=bar,
        )
    if as_json:
        print_json(found)
    else:
        _print_plan(found)


def _build_counts(
    side: str,
    files: Sequence[Path | str],
    triples: int | None,
    entities: int | None,
    literals: int | None,
) -> GraphCounts | None:
    from everalign.planning.plan import complete_counts

    if files and triples is not None:
        raise click.UsageError(f"--{side} and --{side}-triples exclude each other")
    if triples is not None:
        return complete_counts(triples, entities, literals)
    if not files:
        raise click.UsageError(f"give --{side} FILE or --{side}-triples N")
    if entities is not None or literals is not None:
        raise click.UsageError(f"--{side}-entities and --{side}-literals need --{side}-triples")
    return None


def _print_plan(plan: AlignmentPlan) -> None:
    for side, graph in (("left", plan.left), ("right", plan.right)):
        about = "" if graph.is_exact else "about "
        click.echo(
            f"{side}: {about}{graph.triples:,} triples, {graph.entities:,} entities, "
            f"{graph.literals:,} literals"
        )
    threads = "1 core" if plan.cores == 1 else f"{plan.cores} cores"
    click.echo(f"\ninit, {threads}")
    _print_operation(plan, plan.fit, plan.fit_on_workers)
    trained = ", which trains the models again" if plan.update.trains_models else ""
    click.echo(f"\nupdate of {plan.delta:,} statements{trained}, {threads}")
    _print_operation(plan, plan.update, plan.update_on_workers)
    click.echo(f"\n{_describe_memory(plan)}")
    if plan.speed_factor != 1:
        click.echo(f"speed: {plan.speed_factor:.2f} times the stored time, by the sample")
    click.echo("assumptions:")
    for line in plan.assumptions:
        click.echo(f"- {line}")


def _print_operation(
    plan: AlignmentPlan, cost: OperationCost, on_workers: OperationCost | None
) -> None:
    headers = ["step", "time", "memory", "disk"]
    rows: list[list[object]] = [
        [
            step.name,
            format_duration(step.seconds),
            format_bytes(step.memory_bytes),
            format_bytes(step.disk_bytes) if step.disk_bytes else None,
        ]
        for step in cost.steps
    ]
    total = [
        "total",
        format_duration(cost.seconds),
        format_bytes(cost.memory_bytes),
        format_bytes(cost.disk_bytes),
    ]
    factors = plan.error_factors
    ranges = [
        "from",
        format_duration(cost.seconds / factors.get("seconds", 1.0)),
        format_bytes(cost.memory_bytes / factors.get("memory", 1.0)),
        format_bytes(cost.disk_bytes / factors.get("disk", 1.0)),
    ]
    limits = [
        "to",
        format_duration(cost.seconds * factors.get("seconds", 1.0)),
        format_bytes(cost.memory_bytes * factors.get("memory", 1.0)),
        format_bytes(cost.disk_bytes * factors.get("disk", 1.0)),
    ]
    table: list[list[object]] = [*rows, list(total), list(ranges), list(limits)]
    if on_workers is not None:
        headers.append(f"time, {plan.workers} workers")
        error = factors.get("seconds", 1.0)
        times = [step.seconds for step in on_workers.steps]
        times += [on_workers.seconds, on_workers.seconds / error, on_workers.seconds * error]
        for row, seconds in zip(table, times, strict=True):
            row.append(format_duration(seconds))
    print_table(headers, table)


def _describe_memory(plan: AlignmentPlan) -> str:
    needed = format_bytes(max(plan.fit.memory_bytes, plan.update.memory_bytes))
    if not plan.memory_limit_bytes:
        return f"memory: {needed} needed"
    limit = format_bytes(plan.memory_limit_bytes)
    if plan.fits_memory:
        return f"memory: {needed} needed, fits into {limit}"
    if plan.fitting_triples:
        return (
            f"memory: does not fit: {needed} needed, {limit} there; about "
            f"{plan.fitting_triples:,} triples of such graphs would fit"
        )
    return f"memory: does not fit: {needed} needed, {limit} there, too little for any graph"
