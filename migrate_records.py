"""Move the records of one folder per seed into one CSV, one JSON and one safetensors file per variant.

No number is changed. Each seed's note keeps the checksum of the CSV that it came from and the names that its metrics had.
Usage: python migrate.py OLD_BOOK_FOLDER
"""
import csv, hashlib, io, json, sys
from pathlib import Path
import numpy as np, torch, safetensors, safetensors.torch
import rlnotes
from rlnotes.algos import bc, dqn, gail, ppo, sac, sac_bc, td3_bc, reinforce
from rlnotes.algos.policy import Policy, save_policies
from rlnotes.experiments import registry, gail_racecar
from rlnotes.experiments.base import keeps_all_policies
from rlnotes.experiments.settings import as_json
from rlnotes.paths import Run
from rlnotes.runs import store

OLD = Path(sys.argv[1])
METRICS = {"told_apart": "disc_accuracy", "discriminator_loss": "disc_loss", "paid": "disc_reward",
  "paid_above_0": "positive_reward_fraction", "clipped": "clip_fraction", "kl": "approx_kl", "ratio_off": "ratio_deviation",
  "first_ratio_off": "first_ratio_deviation", "renewals": "target_updates", "imitation": "bc_loss", "value": "value_mean"}
VARIANTS = {
 "gail/cartpole": {"gail-zero": "survive-unpaid", "swapped-zero": "swapped-unpaid", "constant-zero": "constant-unpaid", "untrained-zero": "untrained-unpaid", "per-state": "in-place"},
 "gail/acrobot": {"airl": "either", "gail-zero": "survive-unpaid", "gail": "survive", "airl-zero": "either-unpaid", "log-d-zero": "hurry-unpaid"},
 "gail/offline": {"fast-discriminator": "quick-discriminator", "raw-fast-discriminator": "raw-quick-discriminator"},
 "gail/racecar-ppo": {"gail-zero": "survive-unpaid", "no-bc": "no-cloning"},
 "bullet/plate": {"target-at-episode-end": "renewed-at-episode-end", "target-every-1000": "renewed-every-1000"},
}
ELSEWHERE = {("experts/pendulum", "sac"): ("td3bc/pendulum", "online-expert"), ("experts/pendulum", "half-trained"): ("td3bc/pendulum", "online-half"),
  ("experts/cartpole", "dqn"): ("gail/cartpole", "expert"), ("experts/acrobot", "dqn"): ("gail/acrobot", "expert")}
NOTE = "moved from one folder per seed; no number was changed"

def sha(b): return hashlib.sha256(b).hexdigest()

def old_name(id, variant):
    return ELSEWHERE.get((id, variant)) or (id, VARIANTS.get(id, {}).get(variant, variant))

# ---- the settings of today in the words of the old records, to see that they say the same
REWARD = {"gail_reward": "survive", "log_d_reward": "hurry", "airl_reward": "either", "swapped_gail_reward": "swapped",
          "swapped_airl_reward": "swapped-either", "constant_reward": "constant", "hundredfold_airl_reward": "hundredfold"}
TERMINAL = {"zero": "nothing", "absorbing": "nowhere", "absorbing_per_state": "in place"}
SCALE = {"standardised": "standardised", "unit_variance": "standardised", "raw": "raw", "velocity_by_bound": "hand-scaled", "positions_by_15": "divided-by-15"}

def gail_words(s, c):
    g = c.generator
    reinforce_like = not g.baseline
    assert g.reward_scale == 0.01 and g.gamma == .99
    d = {"generator": "reinforce" if reinforce_like else "ppo", "reward": REWARD[c.reward.__name__], "after_end": TERMINAL[c.terminal],
      "task_weight": c.task_reward_weight, "sees_actions": c.use_action, "gradient_penalty": c.gradient_penalty, "spectral": c.spectral_norm,
      "discriminator_epochs": c.disc_epochs, "discriminator_rate": c.disc_learning_rate, "ratio": "stored" if g.log_prob is ppo.stored_log_prob else "fresh",
      "discount": g.gamma, "envs": s.num_envs, "length": g.num_steps, "learning_rate": g.learning_rate, "anneal": g.anneal_lr,
      "entropy_weight": g.ent_coef, "hidden": list(g.hidden)}
    if not reinforce_like: d["epochs"] = g.update_epochs
    assert c.disc_batch_size == 256 and c.disc_hidden == (64, 64), c
    assert g.gae_lambda == (1.0 if reinforce_like else .95) and g.clip_coef == .2 and g.vf_coef == .5 and g.max_grad_norm == .5
    assert g.batch_size == (1_000_000 if reinforce_like else 256)
    return d

def words(exp, variant, s):
    b = s.budget
    d = {"evaluations": b.evaluations, "curve_episodes": b.curve_episodes, "final_episodes": b.final_episodes}
    if hasattr(s, "dataset"): d["dataset"] = s.dataset
    if hasattr(s, "obs_scale"): d["states"] = SCALE[s.obs_scale.__name__]
    a = getattr(s, "agent", None)
    off = isinstance(a, (bc.Config, td3_bc.Config, sac_bc.Config))
    if exp.id.startswith("td3bc/"):
        d |= {"learner": {bc: "bc"}.get(None) or ("bc" if isinstance(a, bc.Config) else "sac_bc" if isinstance(a, sac_bc.Config) else "td3_bc"),
              "learning_rate": a.learning_rate, "hidden": list(a.hidden)}
        assert a.batch_size == 256
        if not isinstance(a, bc.Config):
            d["alpha"] = a.alpha
            if "pendulum" in exp.id: d["bc_weight"] = a.bc_weight
            else: assert a.bc_weight == 1
        if "pendulum" in exp.id:
            d |= {"truncation_terminates": s.prepare.__name__ == "truncation_as_termination", "length": s.length, "updates": b.steps}
        if exp.id == "td3bc/umaze":
            d |= {"updates": s.steps, "relabelled": s.relabelled}; d.pop("dataset"); d.pop("states")
        if exp.id == "td3bc/racecar":
            d |= {"updates": s.steps, "demonstrations": s.demonstrations, "goal_in_state": s.goal_in_obs, "step_reward": s.step_reward,
                  "bc_epochs_first": s.bc_epochs_first, "dagger_rounds": s.dagger_rounds}
    elif exp.id == "experts/pendulum":
        d |= {"learner": "sac-online", "learning_rate": a.learning_rate, "hidden": list(a.hidden), "length": s.length, "online_steps": b.steps}
    elif exp.id.startswith("experts/"):
        d |= {"generator": "dqn", "expert_rate": a.learning_rate, "target_every": a.target_update_interval, "expert_steps": b.steps, "enough": s.stop_at_return or 1000.0}
        assert a.anneal_lr and a.train_freq == 2 and a.exploration_fraction == .2 and a.buffer_size >= b.steps
    elif exp.id == "gail/offline":
        d |= {"demonstrations": s.demonstrations, "updates": s.steps}
        if isinstance(a, bc.Config):
            d |= {"learner": "bc", "learning_rate": a.learning_rate, "hidden": list(a.hidden)}; assert a.batch_size == 128
        else:
            d |= {"learner": "gail", "reward": REWARD[a.reward.__name__], "discriminator_epochs": a.disc_epochs, "discriminator_rate": a.disc_learning_rate,
              "learning_rate": a.generator.learning_rate, "hidden": list(a.generator.hidden)}
            assert a.disc_batch_size == 128 and a.disc_hidden == (128, 64) and a.terminal == "zero" and a.gradient_penalty == 0
    elif exp.id in ("gail/cartpole", "gail/acrobot", "gail/questions"):
        d.pop("states"); d |= gail_words(s, a) | {"demonstrations": s.demonstrations}
        q = getattr(s, "q_learner", None)
        if q is None: d["steps"] = s.steps
        else:
            d |= {"generator": "dqn-paid", "expert_rate": q.learning_rate, "target_every": q.target_update_interval, "expert_steps": s.steps, "enough": s.stop_at_return}
            assert q.anneal_lr and q.train_freq == 2
    elif exp.id.startswith("gail/racecar"):
        d |= {"demonstrations": s.demonstrations, "steps": s.steps, "envs": s.num_envs,
              "throttle": {(-1., 0.): "from-0", (-1., -1.): "as-if-from-minus-1"}[s.action_low]}
        if isinstance(a, bc.Config): d |= {"generator": "bc", "learning_rate": a.learning_rate, "hidden": list(a.hidden)}; d.pop("envs")
        else: d |= gail_words(s, a) | {"cloning": a.bc_weight, "first_deviation": a.generator.initial_std}
    elif exp.id == "bullet/cartpole":
        d |= {"learning_rate": a.learning_rate, "hidden": list(a.hidden), "steps": s.steps}
    elif exp.id == "bullet/plate":
        d |= {"learning_rate": a.learning_rate, "anneal": a.anneal_lr, "hidden": list(a.hidden), "layer_norm": s.layer_norm, "update_every": a.train_freq,
              "target_every": a.target_update_interval, "renewal": {"on_schedule": "on-schedule", "at_episode_end": "at-episode-end"}[a.target_due.__name__],
              "joint_velocities": s.joint_velocities, "time_limit": s.max_episode_steps, "steps": s.steps}
        assert a.exploration_fraction == .2 and a.buffer_size >= s.steps
    elif exp.id == "envs/custom-sb3":
        d |= {"learning_rate": s.learning_rate, "hidden": list(s.net_arch), "discount": s.gamma, "steps": s.steps}
    elif exp.id in ("racecar/demos", "envs/custom-gym"):
        d.pop("evaluations"); d.pop("curve_episodes")
    else: raise SystemExit(exp.id)
    return d

BOUNDS = {"sac": (-5.0, 2.0), "ppo": (-4.0, 1.0), "sb3": (-20.0, 2.0)}

def old_policy(path, exp, settings):
    with safetensors.safe_open(path, framework="pt") as f:
        h = f.metadata(); w = {k: f.get_tensor(k) for k in f.keys()}
    assert h["format"] == "rlnotes-policy-1"
    c, sc = w["action_center"].numpy(), w["action_scale"].numpy()
    kind = "sb3" if exp.id == "envs/custom-sb3" else "ppo" if exp.id.startswith("gail/") else "sac"
    p = Policy(obs_shape=(len(w["obs_mean"]),), action_low=c - sc, action_high=c + sc, hidden=json.loads(h["hidden"]), head=h["head"],
        obs_mean=w["obs_mean"].numpy(), obs_std=w["obs_std"].numpy(), num_actions=int(h.get("choices", "0")),
        layer_norm=json.loads(h.get("layer_norm", "false")), log_std_bounds=BOUNDS[kind])
    p.load_state_dict(w)
    p.action_center.copy_(w["action_center"]); p.action_scale.copy_(w["action_scale"])
    return p

def migrate(exp, variant):
    id0, v0 = old_name(exp.id, variant)
    folder = OLD / "results" / id0 / v0
    settings = exp.settings_for(variant, "full")
    new_json = json.loads(json.dumps(as_json(settings)))
    mine = words(exp, variant, settings)
    infos, rows, policies = {}, {}, {}
    for f in sorted(folder.glob("seed-*"), key=lambda p: int(p.name[5:])):
        seed = int(f.name[5:])
        info = json.loads((f / "run.json").read_text()); content = (f / "metrics.csv").read_bytes()
        assert sha(content) == info["metrics_sha256"]
        old = info["settings"]
        for k, v in mine.items():
            if k == "enough" and k not in old: assert v == 1000.0; continue
            assert old.get(k, "missing") == v, (exp.id, variant, k, old.get(k), v)
        unused = set(old) - set(mine)
        lines = list(csv.reader(io.StringIO(content.decode())))
        r = [(int(a), METRICS.get(m, m), float(x)) for a, m, x in lines[1:]]
        names = {METRICS[m]: m for _, m, _ in lines[1:] if m in METRICS}
        run = Run(exp.id, variant, seed)
        keep = {k: info[k] for k in ("revision", "python", "packages", "cpu", "date")}
        infos[seed] = {"command": run.command, **keep, "settings": new_json, "wall_seconds": info["wall_seconds"], "resumptions": 0,
            "migrated": {"note": NOTE, "from": f"{id0}/{v0}/seed-{seed}", "metrics_sha256": info["metrics_sha256"], "metric_names": names}}
        rows[seed] = tuple(r)
        ck = OLD / "checkpoints" / id0 / v0 / f"seed-{seed}.safetensors"
        if ck.exists(): policies[f"seed-{seed}/last"] = old_policy(ck, exp, settings)
    assert len(infos) >= exp.seeds_for(variant), (exp.id, variant)
    run = Run(exp.id, variant, 0)
    if policies and not keeps_all_policies(exp, variant):
        recs = [store.Record(Run(exp.id, variant, s), {}, rows[s]) for s in infos]
        m = store.median_of(recs, exp.metric).run.seed
        policies = {f"seed-{m}/last": policies[f"seed-{m}/last"]}
    write(run, infos, rows, policies, {})
    return unused

def write(run, infos, rows, policies, arrays):
    tensors, header = {}, {}
    if policies or arrays:
        tmp = Path("/tmp/migrate.safetensors")
        save_policies(tmp, policies, run.owner)
        with safetensors.safe_open(tmp, framework="pt") as f:
            tensors = {k: f.get_tensor(k) for k in f.keys()}; header = f.metadata()
        tensors |= arrays
    store.write_variant(run, infos, rows, tensors, header)

def race():
    told = json.loads((OLD / "results/bench/gail.json").read_text())
    exp = registry.find("gail/race"); settings = as_json(exp.settings_for("cartpole", "full"))
    infos, rows = {}, {}
    for seed, (ours, theirs) in enumerate(zip(told["curves"]["ours"], told["curves"]["imitation"])):
        r = []
        for name, curve in (("ours", ours), ("imitation", theirs)):
            for p in curve:
                r += [(p["steps"], f"{name}_return", p["return"]), (p["steps"], f"{name}_seconds", p["seconds"])]
            assert curve[-1]["return"] >= told["goal"]
            r += [(curve[-1]["steps"], f"{name}_seconds_to_goal", curve[-1]["seconds"]), (curve[-1]["steps"], f"{name}_steps_to_goal", float(curve[-1]["steps"]))]
        run = Run("gail/race", "cartpole", seed)
        infos[seed] = {"command": run.command, "revision": "unknown", "python": None, "packages": {}, "cpu": "unknown", "date": "2026-11-16", "settings": settings,
          "wall_seconds": None, "resumptions": 0, "migrated": {"note": "moved from a file of its own, which kept no more than the curves; no number was changed",
          "from": "bench/gail.json", "file_sha256": sha((OLD / "results/bench/gail.json").read_bytes())}}
        rows[seed] = tuple(r)
    write(Run("gail/race", "cartpole", 0), infos, rows, {}, {})

def reward_map():
    path = OLD / "results/bench/gail-pay.npz"
    m = np.load(path)
    exp = registry.find("gail/reward-map"); settings = as_json(exp.settings_for("ppo", "full"))
    rows = []
    for step, paid in zip(m["steps"], m["paid"]):
        rows += [(int(step), k, v) for k, v in gail_racecar.map_numbers(m["places"], paid).items()]
    run = Run("gail/reward-map", "ppo", 0)
    info = {"command": run.command, "revision": "unknown", "python": None, "packages": {}, "cpu": "unknown", "date": "2026-11-16", "settings": settings,
      "wall_seconds": None, "resumptions": 0, "migrated": {"note": "moved from a file of its own, which kept no more than the maps; no number was changed",
      "from": "bench/gail-pay.npz", "file_sha256": sha(path.read_bytes())}}
    arrays = {f"seed-0/arrays/{new}": torch.from_numpy(m[old]) for new, old in (("steps", "steps"), ("places", "places"), ("rewards", "paid"), ("drives", "drives"))}
    write(run, {0: info}, {0: tuple(rows)}, {}, arrays)

un = {}
for exp in registry.EXPERIMENTS.values():
    if exp.id in ("gail/race", "gail/reward-map"): continue
    for variant in exp.variants:
        u = migrate(exp, variant); un.setdefault(exp.id, set()).update(u)
race(); reward_map()
for k, v in un.items(): print(k, "old settings with no counterpart:", sorted(v))
