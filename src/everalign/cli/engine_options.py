"""The options that say where the work is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from everalign.cli.inputs import Command

LOCAL, SPARK = "local", "spark"


@dataclass(frozen=True)
class EngineChoice:
    """The engine that was chosen.

    Args:
        name: "local" or "spark".
        master: The master of Spark.
        directory: For work and results of Spark; None for one beside the state directory.
        options: Further options of Spark.
    """

    name: str
    master: str
    directory: Path | None
    options: dict[str, str]

    @contextmanager
    def use(self, state: Path) -> Iterator[None]:
        """Start the engine, and let it do what is called within.

        Args:
            state: The state directory.

        Raises:
            ConfigError: The engine is not installed.
            EngineError: It cannot be reached.
        """
        if self.name == LOCAL:
            yield
            return
        from everalign._parallel import use_engine
        from everalign.engine.spark import SparkEngine

        # A directory for each state: several commands may share the one that was given.
        directory = (self.directory or state.parent) / f"{state.name}.spark"
        with SparkEngine(directory, self.master, self.options) as engine, use_engine(engine):
            yield


def add_engine_options(command: Command) -> Command:
    """Add the options to a command, which gets them as `engine`.

    Args:
        command: The command.

    Returns:
        The command with the options.
    """

    @click.option(
        "--engine",
        "engine_name",
        type=click.Choice([LOCAL, SPARK]),
        default=LOCAL,
        show_default=True,
        help="Where input is read and the method runs: threads of this machine, or Apache Spark, "
        "which also reads sources such as hdfs://... and s3a://...",
    )
    @click.option(
        "--master",
        metavar="URL",
        default="local[*]",
        show_default=True,
        help="With --engine spark: the master, such as spark://HOST:7077 or yarn.",
    )
    @click.option(
        "--engine-directory",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIRECTORY",
        help="With --engine spark: where STATE.spark, with work and results, is kept until the "
        "command is done; all workers must have it under this path. Default: beside STATE.",
    )
    @click.option(
        "--spark-option",
        "spark_options",
        multiple=True,
        metavar="NAME=VALUE",
        help="With --engine spark: a setting of Spark, such as spark.executor.memory=8g. May be "
        "repeated.",
    )
    @wraps(command)
    def run(
        *args: Any,
        engine_name: str,
        master: str,
        engine_directory: Path | None,
        spark_options: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        pairs = [option.partition("=") for option in spark_options]
        wrong = [name for name, sign, _ in pairs if not sign]
        if wrong:
            raise click.UsageError(f"--spark-option {wrong[0]}: expected NAME=VALUE")
        options = {name.strip(): value for name, _, value in pairs}
        choice = EngineChoice(engine_name, master, engine_directory, options)
        return command(*args, engine=choice, **kwargs)

    return run  # type: ignore[return-value]
