"""The command line: `python -m rlnotes --help`."""

import argparse
import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlnotes.data import catalogue
from rlnotes.errors import UserError
from rlnotes.paths import LARGEST_SEED


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
        print(
            "rlnotes: stopped; finished runs are recorded, start again to go on",
            file=sys.stderr,
        )
        return 130


def parser() -> argparse.ArgumentParser:  # noqa: PLR0915 (it is a list)
    top = argparse.ArgumentParser(
        prog="python -m rlnotes",
        description="Reinforcement-learning notes that run.",
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any, help: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=help, description=help)
        sub.set_defaults(command=function)
        return sub

    def flag(add: argparse.ArgumentParser, name: str, help: str) -> None:
        add.add_argument(name, action="store_true", help=help)

    def number(
        add: argparse.ArgumentParser, name: str, type: Any, default: Any, help: str
    ) -> None:
        add.add_argument(name, type=type, default=default, help=help)

    def which(add: argparse.ArgumentParser) -> None:
        add.add_argument("id", help="the experiment, e.g. td3bc/pendulum")

    about = "Show the ledger: every experiment, the notes' figure, ours, the verdict."
    add = command("list", list_ledger, about)
    flag(add, "--json", "print a JSON list instead of a table")

    about = "Train one seed of one experiment and record it."
    add = command("run", run, about)
    which(add)
    add.add_argument("--variant", help="which variant (default: the first)")
    number(add, "--seed", _seed, 0, "training seed (default: 0)")
    _budget(add)
    add.add_argument("--logdir", type=Path, help="also write TensorBoard logs here")
    flag(add, "--replace", "record again over an existing record")
    number(
        add,
        "--save-every",
        float,
        300.0,
        "seconds between saved states, from which a stopped run goes on (default: 300)",
    )
    flag(add, "--quiet", "no progress bar")
    flag(add, "--json", "print the final metrics as one JSON object")

    about = "Train and record many seeds; goes on where it was stopped."
    add = command("sweep", sweep, about)
    which(add)
    add.add_argument(
        "--variant", action="append", help="only this one (repeatable; default: all)"
    )
    number(
        add, "--seeds", _positive, None, "how many (default: as the experiment says)"
    )
    _budget(add)
    number(add, "--jobs", _positive, None, "cores to keep busy (default: all)")
    add.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="processes of this machine, or a Ray cluster (default: local)",
    )
    add.add_argument(
        "--address",
        help="of a running Ray cluster, e.g. 10.0.0.1:6379 (default: one of this"
        " machine alone, for as long as the sweep takes)",
    )
    flag(add, "--quiet", "no progress bar")
    flag(add, "--json", "print what was made, failed and already there")

    about = "Play a recorded policy in its unmodified environment."
    add = command("evaluate", evaluate, about)
    which(add)
    add.add_argument("--variant", help="which variant (default: the first)")
    number(
        add, "--train-seed", _seed, None, "whose policy (default: the median seed's)"
    )
    number(add, "--episodes", _positive, 100, "number of episodes (default: 100)")
    number(add, "--seed", _seed, 0, "seed of the evaluation starts (default: 0)")
    flag(add, "--sample", "draw actions from the policy's distribution, not its mode")
    flag(add, "--best", "the policy of the best evaluation, not of the end")
    flag(add, "--json", "print one JSON object")

    about = "Look for the book's known faults in a recorded run, or in a world."
    add = command("doctor", doctor, about)
    add.add_argument("id", nargs="?", help="the experiment, e.g. parallel/dqn")
    add.add_argument("--variant", help="which variant (default: the first)")
    number(add, "--seed", _seed, None, "training seed (default: the first recorded)")
    add.add_argument(
        "--env",
        help="instead of a run: the id of a Gymnasium world, before any training; with"
        " the module that registers it in front, e.g. my_package:MyWorld-v0",
    )
    number(add, "--believed", float, None, "what a perfect episode there is worth")
    add.add_argument("--html", type=Path, help="also write a page with plots here")
    flag(add, "--json", "print the report as one JSON object")

    about = "Make the book's Minari datasets from the recorded policies."
    add = command("data", data, about)
    add.add_argument(
        "id", nargs="*", help="dataset ids (default: all that a chapter reads)"
    )
    flag(add, "--json", "print the state of each dataset")

    about = "Drive the race car with the arrow keys into a Minari dataset."
    add = command("drive", drive, about)
    number(add, "--episodes", _positive, 10, "how many to drive (default: 10)")
    add.add_argument(
        "--dataset",
        default=catalogue.RACECAR_HUMAN,
        help="dataset to create (default: %(default)s)",
    )
    number(add, "--seed", _seed, 0, "seed of the starts (default: 0)")
    flag(add, "--json", "print what was collected as one JSON object")

    about = "Measure speed and memory, as ratios within one run."
    add = command("bench", bench, about)
    add.add_argument(
        "what",
        nargs="?",
        choices=("parallel", "ppo", "pixels", "doctor"),
        help="`parallel`: every way to step many worlds; `ppo`: PPO on them, ours and"
        " SB3's; `pixels`: the same from pictures; `doctor`: what its callback costs"
        " (default: updates and a world)",
    )
    _budget(add, "ci")
    flag(add, "--json", "print the numbers as one JSON object")
    return top


def _budget(add: argparse.ArgumentParser, default: str = "full") -> None:
    about = f"smoke, ci or full (default: {default})"
    add.add_argument("--budget", default=default, help=about)


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value <= LARGEST_SEED:
        raise argparse.ArgumentTypeError(f"{value} is not from 0 to {LARGEST_SEED}")
    return value


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not at least 1")
    return value


def _json(value: Any, **options: Any) -> str:
    """JSON has no NaN and no infinity: both are null."""

    def known(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: known(one) for name, one in part.items()}
        if isinstance(part, list | tuple):
            return [known(one) for one in part]
        return None if isinstance(part, float) and not math.isfinite(part) else part

    return json.dumps(known(value), allow_nan=False, ensure_ascii=False, **options)


# Each command imports what it needs, so that `--help` does not wait for torch.


def list_ledger(options: argparse.Namespace) -> int:
    from rlnotes.report import ledger

    entries = ledger.entries()
    for entry in entries:
        if entry.problem:
            print(f"rlnotes: {entry.problem}", file=sys.stderr)
    if options.json:
        print(_json([entry.as_json() for entry in entries], indent=2))
        return 0
    print(f"{'id':30}{'ours':>8}  {'95% interval':20}{'verdict':16}{'cost':>9}  bar")
    for entry in entries:
        ours = "" if entry.recorded is None else f"{entry.recorded:.1f}"
        ends = (
            "" if entry.interval is None else "[{:.1f}, {:.1f}]".format(*entry.interval)
        )
        cost = "" if entry.cost_minutes is None else f"{entry.cost_minutes:.0f} min"
        print(
            f"{entry.id:30}{ours:>8}  {ends:20}{entry.verdict:16}{cost:>9}  {entry.bar}"
        )
    return 0


def run(options: argparse.Namespace) -> int:
    from rlnotes.experiments import registry
    from rlnotes.paths import Run
    from rlnotes.runs import run as running
    from rlnotes.runs.sweep import die_with_sweep

    die_with_sweep()
    variant = options.variant or registry.find(options.id).main_variant
    named = Run(options.id, variant, options.seed, options.budget)
    record = running.run(
        named,
        options.logdir,
        options.replace,
        progress=not options.quiet,
        save_every=options.save_every,
    )
    last = record.rows[-1][0]
    final = {metric: value for step, metric, value in record.rows if step == last}
    if options.json:
        print(_json(asdict(named) | final))
    else:
        shown = ", ".join(f"{name} {value:.4g}" for name, value in final.items())
        print(f"recorded in {named.json}: {shown}")
    return 0


def sweep(options: argparse.Namespace) -> int:
    from rlnotes.experiments import registry
    from rlnotes.paths import Run
    from rlnotes.runs import cluster
    from rlnotes.runs import sweep as sweeping

    if options.address is not None and options.engine != "ray":
        raise UserError("--address is that of a Ray cluster: say --engine ray, too")
    experiment = registry.find(options.id)
    runs = []
    for variant in dict.fromkeys(options.variant or experiment.variants):
        experiment.settings_for(variant, options.budget)  # raises for unknown names
        seeds = experiment.training_seeds(variant, options.seeds)
        runs += [Run(options.id, variant, seed, options.budget) for seed in seeds]
    progress = not options.quiet
    if options.engine == "ray":
        made, failed = cluster.sweep(runs, options.jobs, progress, options.address)
    else:
        made, failed = sweeping.sweep(runs, options.jobs, progress)
    there = len(runs) - len(made) - len(failed)
    if options.json:
        counts = {"made": len(made), "failed": len(failed), "already_there": there}
        print(_json(counts))
    else:
        print(f"{len(made)} runs made, {there} already there, {len(failed)} failed")
    return 1 if failed else 0


def evaluate(options: argparse.Namespace) -> int:
    from rlnotes.runs import evaluate as evaluating

    result = evaluating.evaluate(
        options.id,
        options.variant,
        options.train_seed,
        options.episodes,
        options.seed,
        progress=not options.json,
        sample=options.sample,
        which="best" if options.best else "last",
    )
    if options.json:
        print(_json(asdict(result)))
        return 0
    parts = [
        f"{result.id} {result.variant}, training seed {result.train_seed}:"
        f" {result.episodes} episodes",
        f"mean {result.mean:.1f}",
        f"IQM {result.iqm:.1f}",
        f"worst {min(result.returns):.1f}",
        f"best {max(result.returns):.1f}",
    ]
    if result.success_rate is not None:
        parts.append(f"{result.success_rate:.0%} succeeded")
    if result.normalised is not None:
        parts.append(f"normalised {result.normalised:.1f}")
    print(", ".join(parts))
    return 0


def doctor(options: argparse.Namespace) -> int:
    if (options.id is None) == (options.env is None):
        raise UserError(
            "say what to examine: a recorded run (doctor parallel/dqn) or a world"
            " (doctor --env CartPole-v1)"
        )
    if options.env is None and options.believed is not None:
        raise UserError("--believed is about a world: say --env, too")
    if options.id is None and (options.variant or options.seed is not None):
        raise UserError("--variant and --seed are of a recorded run: leave out --env")
    from rlnotes.report import doctor

    if options.env is not None:
        from rlnotes.doctor.world import examine_env

        report = examine_env(options.env, options.believed)
    else:
        report = doctor.examine_run(options.id, options.variant, options.seed)
    if options.html is not None:
        try:
            options.html.write_text(doctor.page(report))
        except OSError as problem:
            raise UserError(f"{options.html}: cannot be written ({problem})") from None
    print(_json(report.as_json()) if options.json else report)
    return 0


def data(options: argparse.Namespace) -> int:
    from rlnotes.data import datasets
    from rlnotes.experiments import recipes
    from rlnotes.runs.sweep import die_with_sweep

    die_with_sweep()
    state = {}
    known = recipes.RECIPES
    read = [name for name, recipe in known.items() if not recipe.on_demand]
    for recipe in [recipes.find(name) for name in options.id or read]:
        there = datasets.path(recipe.dataset_id).exists()
        if there:
            datasets.load(recipe.dataset_id)  # raises if damaged
        else:
            recipes.make(recipe)
        state[recipe.dataset_id] = "already there" if there else "made"
    if options.json:
        print(_json(state))
    else:
        for name, what in state.items():
            print(f"{name}: {what}, in {datasets.path(name)}")
    return 0


def drive(options: argparse.Namespace) -> int:
    import gymnasium as gym

    from rlnotes.data import datasets, driving
    from rlnotes.seeding import reset_seeds

    datasets.refuse_existing(options.dataset)  # before anybody drives for an hour
    env = gym.make("rlnotes/RaceCar-v0", start_noise=1.0, render_mode="rgb_array")
    starts = reset_seeds("train", options.seed, options.episodes)
    episodes = driving.drive(env, starts)
    if not episodes:
        raise UserError("no episode was driven to its end, so there is nothing to keep")
    arrived = sum(episode.total_reward > 0 for episode in episodes)
    datasets.create(
        options.dataset,
        gym.make("rlnotes/RaceCar-v0", start_noise=1.0),
        episodes,
        algorithm="a person with arrow keys",
        description=f"{len(episodes)} episodes driven by hand, {arrived} of them to the"
        " finish.",
        random_return=-1.0,
        expert_return=3.0,
    )
    if options.json:
        kept = {"dataset": options.dataset, "episodes": len(episodes)}
        print(_json(kept | {"arrived": arrived}))
    else:
        where = datasets.path(options.dataset)
        print(f"{len(episodes)} episodes, {arrived} arrived, kept in {where}")
    return 0


def bench(options: argparse.Namespace) -> int:
    from rlnotes.runs import bench

    if options.what == "parallel":
        return _bench_parallel(options)
    if options.what in ("ppo", "pixels"):
        return _bench_ppo(options)
    measured = bench.doctor if options.what == "doctor" else bench.measure
    report = measured(options.budget)
    print(_json(report) if options.json else bench.table(report))
    return 0


def _bench_parallel(options: argparse.Namespace) -> int:
    from rlnotes.report import throughput
    from rlnotes.runs import bench

    found = bench.parallel(options.budget)
    if options.json:
        print(_json({name: throughput.as_json(one) for name, one in found.items()}))
    else:
        print(throughput.table({name: [one] for name, one in found.items()}))
    return 0


def _bench_ppo(options: argparse.Namespace) -> int:
    from rlnotes.report import ppo_speed
    from rlnotes.runs import bench

    race = bench.pixels if options.what == "pixels" else bench.ppo
    found = race(options.budget)
    if options.json:
        print(_json({metric: value for _, metric, value in found.rows}))
    else:
        print(ppo_speed.table([found]), ppo_speed.profile([found]), sep="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
