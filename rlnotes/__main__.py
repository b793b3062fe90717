"""The command line: `python -m rlnotes --help`."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlnotes.errors import UserError


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        return options.command(options)
    except UserError as problem:
        print(f"rlnotes: {problem}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output left, as `| head` does
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("rlnotes: stopped; finished runs are recorded, start again to go on", file=sys.stderr)
        return 130


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m rlnotes", description="Reinforcement-learning notes that run.")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help)
        sub.set_defaults(command=function)
        return sub

    add = command("list", list_ledger, "Show the ledger: every experiment, the notes' figure, ours, the verdict.")
    add.add_argument("--json", action="store_true", help="print a JSON list instead of a table")

    add = command("run", run, "Train one seed of one experiment and record it.")
    add.add_argument("id", help="ledger id, e.g. td3bc/pendulum")
    add.add_argument("--variant", help="which variant (default: the experiment's first)")
    add.add_argument("--seed", type=_natural, default=0, help="training seed (default: 0)")
    _budget(add)
    add.add_argument("--logdir", type=Path, help="also write TensorBoard logs here")
    add.add_argument("--replace", action="store_true", help="record again over an existing record")
    add.add_argument("--quiet", action="store_true", help="no progress bar")
    add.add_argument("--json", action="store_true", help="print the final metrics as one JSON object")

    add = command("sweep", sweep, "Train and record many seeds; resumes where it was stopped.")
    add.add_argument("id", help="ledger id, e.g. td3bc/pendulum")
    add.add_argument("--variant", action="append", help="only this variant (repeatable; default: all)")
    add.add_argument("--seeds", type=_positive, help="number of training seeds (default: as the experiment says)")
    _budget(add)
    add.add_argument("--jobs", type=_positive, default=2, help="processes side by side (default: 2)")
    add.add_argument("--quiet", action="store_true", help="no progress bar")
    add.add_argument("--json", action="store_true", help="print what was made, failed and already there")

    add = command("evaluate", evaluate, "Play a recorded policy in its unmodified environment.")
    add.add_argument("id", help="ledger id, e.g. td3bc/pendulum")
    add.add_argument("--variant", help="which variant (default: the experiment's first)")
    add.add_argument("--train-seed", type=_natural, help="whose policy (default: the median training seed's)")
    add.add_argument("--episodes", type=_positive, default=100, help="number of episodes (default: 100)")
    add.add_argument("--seed", type=_natural, default=0, help="seed of the evaluation starts (default: 0)")
    add.add_argument("--json", action="store_true", help="print one JSON object")

    add = command("data", data, "Make the book's Minari datasets from the recorded policies.")
    add.add_argument("id", nargs="*", help="dataset ids (default: all that are missing and that a chapter reads)")
    add.add_argument("--json", action="store_true", help="print the state of each dataset")

    add = command("drive", drive, "Drive the race car with the arrow keys and keep the episodes as a Minari dataset.")
    add.add_argument("--episodes", type=_positive, default=10, help="how many episodes to drive (default: 10)")
    add.add_argument("--dataset", default="rlnotes/racecar/human-v0", help="dataset to create (default: %(default)s)")
    add.add_argument("--seed", type=_natural, default=0, help="seed of the starts (default: 0)")
    add.add_argument("--json", action="store_true", help="print what was collected as one JSON object")

    add = command("bench", bench, "Measure speed and memory, as ratios within one run.")
    add.add_argument("--json", action="store_true", help="print the numbers as one JSON object")

    about = "Race our GAIL against the imitation library's on CartPole; installs that library aside on first use."
    add = command("race", race, about)
    add.add_argument("--seeds", type=_positive, default=3, help="races (default: 3)")
    add.add_argument("--json", action="store_true", help="print both curves of every race as one JSON object")

    about = "Train the race car with GAIL once more and keep what the discriminator pays for each place on the track."
    add = command("pay-map", pay_map, about)
    add.add_argument("--json", action="store_true", help="print what was kept as one JSON object")
    return top


def _budget(add: argparse.ArgumentParser) -> None:
    add.add_argument("--budget", default="full", help="smoke, ci or full (default: full)")


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{value} is negative")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not at least 1")
    return value


# Each command imports what it needs, so that `--help` does not wait for torch.


def list_ledger(options: argparse.Namespace) -> int:
    from rlnotes.evidence import ledger

    entries = ledger.entries()
    if options.json:
        print(json.dumps([entry.as_json() for entry in entries], indent=2, ensure_ascii=False))
        return 0
    print(f"{'id':30}{'ours':>8}  {'95% interval':20}{'verdict':16}{'cost':>9}  bar")
    for entry in entries:
        ours = "" if entry.recorded is None else f"{entry.recorded:.1f}"
        interval = "" if entry.interval is None else f"[{entry.interval[0]:.1f}, {entry.interval[1]:.1f}]"
        cost = "" if entry.cost_minutes is None else f"{entry.cost_minutes:.0f} min"
        print(f"{entry.id:30}{ours:>8}  {interval:20}{entry.verdict:16}{cost:>9}  {entry.bar}")
    return 0


def run(options: argparse.Namespace) -> int:
    from rlnotes.evidence import runner
    from rlnotes.evidence.records import Run
    from rlnotes.experiments import registry

    experiment = registry.find(options.id)
    named = Run(options.id, options.variant or experiment.main_variant, options.seed, options.budget)
    record = runner.run(named, options.logdir, options.replace, progress=not options.quiet)
    final = {metric: value for step, metric, value in record.rows if step == record.rows[-1][0]}
    if options.json:
        print(
            json.dumps({"id": named.id, "variant": named.variant, "seed": named.seed, "budget": named.budget} | final)
        )
    else:
        print(f"recorded in {named.folder}: " + ", ".join(f"{name} {value:.4g}" for name, value in final.items()))
    return 0


def sweep(options: argparse.Namespace) -> int:
    from rlnotes.evidence import runner
    from rlnotes.evidence.records import Run
    from rlnotes.experiments import registry

    experiment = registry.find(options.id)
    runs = []
    for variant in options.variant or experiment.variants:
        experiment.settings_for(variant, options.budget)  # raises for an unknown variant or budget
        seeds = options.seeds or experiment.seeds_for(variant)
        runs += [Run(options.id, variant, seed, options.budget) for seed in range(seeds)]
    made, failed = runner.sweep(runs, options.jobs, progress=not options.quiet)
    there = len(runs) - len(made) - len(failed)
    if options.json:
        print(json.dumps({"made": len(made), "failed": len(failed), "already_there": there}))
    else:
        print(f"{len(made)} runs made, {there} were already there, {len(failed)} failed")
    return 1 if failed else 0


def evaluate(options: argparse.Namespace) -> int:
    from rlnotes.evidence import evaluation

    result = evaluation.evaluate(
        options.id, options.variant, options.train_seed, options.episodes, options.seed, progress=not options.json
    )
    if options.json:
        print(json.dumps(asdict(result)))
    else:
        print(
            f"{result.id} {result.variant}, training seed {result.train_seed}: "
            f"{result.episodes} episodes, mean {result.mean:.1f}, IQM {result.iqm:.1f}, "
            f"worst {min(result.returns):.1f}, best {max(result.returns):.1f}"
            + (f", {result.success_rate:.0%} succeeded" if result.success_rate is not None else "")
            + (f", normalised {result.normalised:.1f}" if result.normalised is not None else "")
        )
    return 0


def data(options: argparse.Namespace) -> int:
    from rlnotes.data import datasets
    from rlnotes.experiments import recipes

    state = {}
    read = [name for name, recipe in recipes.RECIPES.items() if not recipe.on_demand]
    for recipe in [recipes.find(name) for name in options.id or read]:
        there = datasets.path(recipe.dataset_id).exists()
        if there:
            datasets.load(recipe.dataset_id)  # raises if damaged
        else:
            recipes.make(recipe)
        state[recipe.dataset_id] = "already there" if there else "made"
    if options.json:
        print(json.dumps(state))
    else:
        print("\n".join(f"{name}: {what}, in {datasets.path(name)}" for name, what in state.items()))
    return 0


def drive(options: argparse.Namespace) -> int:
    import gymnasium as gym

    import rlnotes.envs  # noqa: F401  (registers the world)
    from rlnotes.data import datasets, driving
    from rlnotes.seeding import reset_seeds

    datasets.refuse_existing(options.dataset)  # before anybody drives for an hour
    env = gym.make("rlnotes/RaceCar-v0", start_noise=1.0, render_mode="rgb_array")
    episodes = driving.drive(env, reset_seeds("train", options.seed, options.episodes))
    if not episodes:
        raise UserError("no episode was driven to its end, so there is nothing to keep")
    arrived = sum(episode.total_reward > 0 for episode in episodes)
    datasets.create(
        options.dataset,
        gym.make("rlnotes/RaceCar-v0", start_noise=1.0),
        episodes,
        algorithm="a person with arrow keys",
        description=f"{len(episodes)} episodes driven by hand, {arrived} of them to the finish.",
        random_return=-1.0,
        expert_return=3.0,
    )
    if options.json:
        print(json.dumps({"dataset": options.dataset, "episodes": len(episodes), "arrived": arrived}))
    else:
        print(f"{len(episodes)} episodes, {arrived} arrived, kept in {datasets.path(options.dataset)}")
    return 0


def bench(options: argparse.Namespace) -> int:
    from rlnotes.evidence import bench

    report = bench.measure()
    print(json.dumps(report) if options.json else bench.table(report))
    return 0


def race(options: argparse.Namespace) -> int:
    from rlnotes.evidence import race

    report = race.run(options.seeds)
    ratio = f"ours is {report['times_faster']:.1f} times faster to a return of {report['goal']:.0f}"
    print(json.dumps(report) if options.json else f"{ratio}; written to {race.result()}")
    return 0


def pay_map(options: argparse.Namespace) -> int:
    from rlnotes.evidence import pay_map

    maps = pay_map.run()
    pay_map.write(maps)
    kept = {"maps": len(maps.steps), "places": len(maps.places), "file": str(pay_map.result())}
    print(json.dumps(kept) if options.json else "{maps} maps of {places} places, kept in {file}".format(**kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
