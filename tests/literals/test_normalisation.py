"""Names across scripts: readings, sounds, and what seeds teach."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from tests.literals.graphs import best, texts, values

from everalign.literals.normalisation import (
    is_japanese,
    is_latin,
    missing_package_note,
    transliterate,
)

pytest.importorskip("fugashi")
pytest.importorskip("pypinyin")


@pytest.mark.parametrize(
    ("text", "language", "latin"),
    [
        ("東京", "ja", "tokyo"),
        ("東京", "zh", "dongjing"),
        ("東京", "zh-Hant", "dongjing"),
        ("東京タワー", "", "tokyo tawa"),
        ("北京", "", "beijing"),
        ("武藤敬司", "ja", "muto keiji"),
        ("ザ・ビートルズ", "", "za bitoruzu"),
        ("Москва", "ru", "Moskva"),
        ("Αθήνα", "", "Athina"),
        ("서울", "ko", "SeoUl"),
        ("B.B.キング", "", "B.B. kingu"),
    ],
)
def test_latin_form(text: str, language: str, latin: str) -> None:
    assert transliterate(text, language) == latin


def test_kana_of_others_say_how_to_read_han() -> None:
    japanese = ["武藤敬司", "ビッグ・ブラック", "さくら", "東京"]
    chinese = ["毛泽东", "北京", "上海", "東京"]
    assert is_japanese(japanese)
    assert not is_japanese(chinese)
    right = texts("Tokyo", "Dongjing")
    assert best(texts(*japanese), right)[3] == 0
    assert best(texts(*chinese), right)[3] == 1


def test_the_tag_outranks_the_neighbours() -> None:
    left = values(['"東京"@zh', '"さくら"@ja', '"ひらがな"@ja'])
    assert best(left, texts("Tokyo", "Dongjing"))[0] == 1


def test_latin_texts_are_left_alone() -> None:
    assert is_latin("Đà Nẵng – “naïve”")
    assert not is_latin("naïve Москва")


def test_readers_that_are_there_are_not_missed() -> None:
    assert missing_package_note(["東京", "カナ"]) is None


@pytest.mark.slow
def test_without_readers_names_are_still_compared() -> None:
    """In a process of its own, in which the readers cannot be imported."""
    program = """
import sys
sys.modules["fugashi"] = sys.modules["pypinyin"] = None
from everalign.literals.normalisation import missing_package_note, transliterate
print(transliterate("北京", "zh").lower(), transliterate("カナ"))
print(missing_package_note(["カナ", "北京"]))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.stdout.splitlines() == [
        "beijing kana",
        "without fugashi and pypinyin, names are compared less well: "
        "pip install 'everalign[names]'",
    ]


def test_names_are_found_across_scripts() -> None:
    left = texts(
        "プライマル・スクリーム", "ウルグアイ", "ジェームズ・マディソン", "キャロル・キング"
    )
    right = texts("Carole King", "James Madison", "Primal Scream", "Uruguay", "Paraguay")
    assert best(left, right) == {0: 2, 1: 3, 2: 1, 3: 0}


def test_seeds_teach_words() -> None:
    """The left words are made up: only the seeds tell what they mean."""
    words = {
        "bik": "red",
        "tor": "green",
        "mun": "blue",
        "lef": "old",
        "dap": "new",
        "gos": "tall",
    }
    things = {"wux": "house", "zeb": "river", "kif": "tower", "pol": "road", "ras": "gate"}
    things["nim"] = "hill"
    pairs = [(f"{a} {t}", f"{words[a]} {things[t]}") for a in words for t in things]
    left, right = texts(*(one for one, _ in pairs)), texts(*(two for _, two in pairs))
    order = np.random.default_rng(0).permutation(len(pairs))[:32]
    seeds = np.stack([order, order], axis=1).astype(np.int32)
    unseen = set(range(len(pairs))) - set(order.tolist())
    found = best(left, right, seeds)
    assert all(found.get(at) == at for at in unseen)
    untaught = best(left, right)
    assert not any(untaught.get(at) == at for at in unseen)


def test_half_width_letters_are_read_as_the_usual_ones() -> None:
    half, full = texts("ｶﾞﾝﾀﾞﾑ", "㈱").texts, texts("ガンダム", "(株)").texts
    assert half.latin == full.latin
