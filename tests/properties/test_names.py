"""An index over stored names behaves as one in memory, however often it is opened again."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from everalign.graph import NameIndex
from everalign.state import Delta, StateStore
from everalign.state.method_output import MethodOutput

NAMES = st.text(st.sampled_from("ab\x00é"), max_size=2)
LISTS_OF_NAMES = st.lists(NAMES, max_size=6)
# Names to look up, names to add, and whether the state is closed and opened in between.
STEPS = st.lists(st.tuples(LISTS_OF_NAMES, LISTS_OF_NAMES, st.booleans()), max_size=6)


@given(STEPS, st.integers(0, 8))
def test_stored_names_are_an_index_in_memory(
    steps: list[tuple[list[str], list[str], bool]], few: int
) -> None:
    expected = NameIndex()
    # Few names are loaded at once: this varies how many are few.
    with TemporaryDirectory() as folder, patch("everalign.graph.names.FEW_NAMES", few):
        state = Path(folder) / "state"
        store = StateStore.create(state, {})
        names = NameIndex(stored=store.open_names("left", "entity"))
        for asked, added, reopens in steps:
            known_count = len(names)
            assert names.find_ids(asked).tolist() == expected.find_ids(asked).tolist()
            assert [name in names for name in asked] == [name in expected for name in asked]
            ids = names.get_or_add_ids(added).tolist()
            assert ids == [expected.get_or_add_id(name) for name in added]
            assert names.map_names(ids) == dict(zip(ids, added, strict=True))
            new_names = names.list_names_after(known_count)
            store.journal_delta(Delta("", "", {}, {("left", "entity"): new_names}))
            store.commit_version(MethodOutput(), [], {})
            if reopens:
                store.close()
                store = StateStore.open(state, write=True)
                names = NameIndex(stored=store.open_names("left", "entity"))
            assert len(names) == len(expected)
        assert list(names) == list(expected)
        assert [names[number] for number in range(-len(names), len(names))] == [*expected] * 2
        store.close()
