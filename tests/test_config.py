"""Settings are data: they can be written, read back, and are refused where they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.config import Config, build_settings
from everalign.errors import ConfigError
from everalign.methods.contea import ContEASettings

scalars = st.one_of(
    st.booleans(), st.integers(0, 10**9), st.text(max_size=20),
    st.floats(0, 1e9, allow_nan=False, allow_infinity=False),
)  # fmt: skip
names = st.from_regex(r"[a-z][a-z_]{0,10}", fullmatch=True)


@pytest.mark.slow
@given(names, st.integers(0, 2**60), names, st.dictionaries(names, scalars))
def test_what_is_written_reads_back(
    method: str, seed: int, rule: str, settings: dict[str, object]
) -> None:
    config = Config(method, seed, rule, settings)
    assert Config.parse(config.to_toml()) == config


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("seed = 'one'", "'seed' must be of type int, not 'one'"),
        ("seed = true", "'seed' must be of type int, not True"),
        ("seed = -1", "'seed' must be a number from 0 on"),
        ("settings = 3", "'settings' must be a table"),
        (
            "sede = 1",
            "unknown setting 'sede'; choose from cardinality, classes, languages",
        ),
        ("seed = ", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Config.parse(text)


def test_a_whole_number_will_do_where_a_share_is_wanted() -> None:
    assert build_settings(ContEASettings, {"bootstrap": 0}, "contea").bootstrap == 0


def test_a_name_with_any_character_reads_back() -> None:
    config = Config(settings={"name": '\x7f\x00"\\\n杭州'})
    assert Config.parse(config.to_toml()) == config


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        Config.read(tmp_path / "none.toml")


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"dropout": 1.0}, {"bootstrap": 2.0}])
def test_a_setting_out_of_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=f"'{next(iter(wrong))}' must be"):
        build_settings(ContEASettings, wrong, "contea")
