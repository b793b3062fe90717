"""The index of symptoms: every check, under what its owner complains of."""

from rlnotes.doctor.checks import CHECKS
from rlnotes.report import chinese, symptoms


def test_every_check_of_the_chapters_is_there() -> None:
    chapters = {check.section.partition("#")[0] for check in CHECKS.values()}
    found = symptoms.index(chapters)
    titles = [one.title for suspicions in found.values() for one in suspicions]
    assert sorted(titles) == sorted(check.title for check in CHECKS.values())
    assert set(found) == {check.symptom for check in CHECKS.values()}


def test_what_looks_alike_stands_together() -> None:
    (together,) = [
        each for each in symptoms.index({"pixels"}).values() if len(each) > 1
    ]
    assert {one.chapter for one in together} == {"pixels"}
    assert len({one.title for one in together}) == len(together)


def test_chapters_that_are_not_written_are_left_out() -> None:
    found = symptoms.index({"gail"})
    assert found
    assert all(one.chapter == "gail" for each in found.values() for one in each)
    assert symptoms.index(()) == {}


def test_in_chinese_the_same_sections_are_found() -> None:
    assert list(chinese.CHECKS) == list(CHECKS)
    chapters = {check.section.partition("#")[0] for check in CHECKS.values()}
    places = [
        [(one.chapter, one.anchor) for each in found.values() for one in each]
        for found in (
            symptoms.index(chapters),
            symptoms.index(chapters, chinese.CHECKS),
        )
    ]
    assert places[0] == places[1]
