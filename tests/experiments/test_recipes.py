"""Recipes: what is written about a dataset, and which datasets wait to be asked for."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import minari
import pytest

from rlnotes.__main__ import main
from rlnotes.data import catalogue, waypoints
from rlnotes.experiments import recipes
from rlnotes.experiments.recipes import Recipe


def test_the_maze_is_collected_in_one_condition_and_judged_in_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    monkeypatch.setattr(recipes, "_random_return", lambda env_id: 15.0)
    monkeypatch.setattr(recipes, "_expert_return", lambda env_id, expert: 215.0)
    recipe = recipes.find(catalogue.UMAZE)
    recipes.make(replace(recipe, collect=partial(waypoints.collect, 300)))
    dataset = minari.load_dataset(catalogue.UMAZE)
    assert dataset.total_steps == 300
    assert dataset.recover_environment().spec.kwargs == {"moving_goal": True}
    assert dataset.recover_environment(eval_env=True).spec.kwargs == {}
    assert (
        dataset.storage.metadata["ref_min_score"],
        dataset.storage.metadata["ref_max_score"],
    ) == (15.0, 215.0)


def test_what_no_chapter_reads_is_made_only_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[str] = []

    def make(recipe: Recipe) -> None:
        made.append(recipe.dataset_id)

    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    monkeypatch.setattr(recipes, "make", make)
    assert main(["data", "--json"]) == 0
    assert made == list(json.loads(capsys.readouterr().out))
    assert set(recipes.RECIPES) - set(made) == {
        recipe.dataset_id for recipe in recipes.RECIPES.values() if recipe.on_demand
    }
    assert catalogue.RACECAR_NOTES not in made
    assert main(["data", catalogue.RACECAR_NOTES]) == 0
    assert made[-1] == catalogue.RACECAR_NOTES
