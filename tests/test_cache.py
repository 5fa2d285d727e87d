"""The cache of limited size, beside a plain list of what was used last."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from everalign._cache import LimitedCache

LIMIT = 6
KEYS = st.integers(0, 9)
STEPS = st.lists(st.tuples(st.sampled_from(["get", "put", "read"]), st.lists(KEYS, max_size=4)))


def compute(key: int) -> str:
    return "x" * (key % 4)


@given(STEPS)
def test_it_keeps_what_was_used_last(steps: list[tuple[str, list[int]]]) -> None:
    cache = LimitedCache[int, str](LIMIT, len)
    used: list[int] = []

    def use(key: int) -> None:
        if key in used:
            used.remove(key)
        used.append(key)
        while sum(len(compute(kept)) for kept in used) > LIMIT:
            used.pop(0)

    for step, keys in steps:
        if step == "read":
            asked: list[int] = []
            found = cache.read_many(keys, partial(_read, asked))
            assert found == {key: compute(key) for key in keys}
            distinct = list(dict.fromkeys(keys))
            assert asked == [key for key in distinct if key not in used]
            for key in sorted(distinct, key=lambda key: key in asked):
                use(key)
        for key in keys if step != "read" else ():
            if step == "put":
                cache.put(key, compute(key))
                use(key)
            else:
                assert cache.get(key) == (compute(key) if key in used else None)
                if key in used:
                    use(key)
        assert len(cache) == len(used)


def _read(asked: list[int], missing: list[int]) -> dict[int, str]:
    asked += missing
    return {key: compute(key) for key in missing}


def test_keys_without_a_value_are_asked_for_again() -> None:
    cache = LimitedCache[int, str](LIMIT)
    assert cache.read_many([1, 2], lambda _: {1: "one"}) == {1: "one"}
    assert cache.read_many([1, 2], lambda missing: dict.fromkeys(missing, "now")) == {
        1: "one",
        2: "now",
    }


def test_clear() -> None:
    cache = LimitedCache[int, str](LIMIT)
    cache.put(1, "one")
    cache.clear()
    assert (len(cache), cache.get(1)) == (0, None)
