"""The session of Apache Spark: what it needs, how it is started and stopped, and why it failed."""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

from everalign.errors import ConfigError, EngineError

MIN_JAVA = 17
# A task that fails (a worker that was killed) is tried so often.
MAX_FAILURES = 4
CONNECT_SECONDS = 5.0
LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")

logger = logging.getLogger(__name__)


def check_java() -> None:
    """Check that there is a Java that Spark can use.

    Raises:
        ConfigError: There is none, or an old one.
    """
    home = os.environ.get("JAVA_HOME", "")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    need = f"Apache Spark needs Java {MIN_JAVA} or newer"
    if program is None:
        raise ConfigError(f"{need}, and there is no `java`: install it, or set JAVA_HOME")
    try:
        shown = subprocess.run(
            [program, "-version"], check=False, capture_output=True, text=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{need}, and {program} does not run: {error}") from error
    found = re.search(r'version "(\d+)(?:\.(\d+))?', shown.stderr + shown.stdout)
    # Before Java 9, the first number was 1.
    found_version = (
        0 if found is None else int(found[2] or 0) if found[1] == "1" else int(found[1])
    )
    if found_version < MIN_JAVA:
        raise ConfigError(f"{need}; {program} is version {found_version or 'unknown'}")


def check_master(master: str) -> None:
    """Ask a master of a cluster whether it is there: Spark itself would wait for minutes.

    Args:
        master: The master.

    Raises:
        ConfigError: It is no name of a master.
        EngineError: It does not answer.
    """
    found = re.match(r"spark://([^:,/]+|\[[^]]+\]):(\d+)", master)
    if found is None:
        if not re.match(r"local(\[|$)|yarn$|k8s://|spark://", master):
            known = "local[N], spark://HOST:PORT, yarn or k8s://URL"
            raise ConfigError(f"{master!r} is no master of Spark: {known}")
        return
    host, port = found[1].strip("[]"), int(found[2])
    try:
        socket.create_connection((host, port), CONNECT_SECONDS).close()
    except OSError as error:
        raise EngineError(f"the Spark master {master} does not answer: {error}") from error


def start_session(master: str, options: dict[str, str], scratch: Path) -> Any:
    """Start Spark.

    Args:
        master: The master.
        options: Options of Spark, by name.
        scratch: Where Spark keeps its own files.

    Returns:
        The session.

    Raises:
        ConfigError: pyspark is not installed.
        EngineError: Spark does not start.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ConfigError(
            "Apache Spark is not installed: pip install 'everalign[spark]'"
        ) from error
    # The same interpreter everywhere on this machine; a cluster may have set its own.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    found = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    if found:
        # Otherwise a task in local mode is tried once.
        master = f"local[{found[1] or '1'},{MAX_FAILURES}]"
    settings = {
        "spark.app.name": "everalign",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
        "spark.task.maxFailures": str(MAX_FAILURES),
        "spark.local.dir": str(scratch),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "64",
        "spark.sql.adaptive.enabled": "false",
        "spark.python.worker.reuse": "true",
        "spark.ui.showConsoleProgress": "false",
        **options,
    }
    scratch.mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        with warnings.catch_warnings():
            # It warns of versions of pandas, which nothing here uses.
            warnings.simplefilter("ignore", FutureWarning)
            return builder.getOrCreate()
    except Exception as error:
        raise EngineError(explain_failure(error, master)) from error


def stop_session(session: Any) -> None:
    """Stop Spark and the process of Java, which pyspark itself leaves until this process ends.

    Args:
        session: The session.
    """
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    session.stop()
    process = getattr(gateway, "proc", None)
    if process is None:
        # Somebody else has started it.
        return
    gateway.shutdown()
    process.stdin.close()
    process.wait()
    SparkContext._gateway = SparkContext._jvm = None


def explain_failure(error: Exception, master: str) -> str:
    """Find the line of a long report that says what has happened.

    Args:
        error: What Spark has raised.
        master: The master.

    Returns:
        One line.
    """
    text = str(error)
    own = re.search(r"everalign\.errors\.\w+: (.+)", text)
    if own:
        return own[1].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"(Caused by: )?[\w.]*(Error|Exception):", line)]
    logger.debug("Spark: %s", text)
    return f"Spark on {master} has failed: {(causes or lines or [type(error).__name__])[-1]}"
