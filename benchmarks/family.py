"""What a short training reaches in every game: `python benchmarks/family.py`, or `--show` for the last figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sweeps import ROOT, Figures, arguments, as_table, called, keep, read, swept

from agents.network import read_checkpoint
from cli import run
from engine.variants import find_ruleset

FIGURES = Path(__file__).parent / "family.json"
OPPONENTS = ("random", "pips")
COLUMNS = ("game", "games played", "wins against random", "ppg against random", "ppg against pips", "falls short of")


def trained(name: str, minutes: float) -> dict[str, Any]:
    """The figures of one short training, in a process of its own."""
    words = [str(ROOT / "configs" / f"{name}.toml"), f"run.minutes={minutes}", f"run.name=family-{name}", "--quiet"]
    told = called(str(ROOT / "train.py"), *words, folder=Path())
    contents = read_checkpoint(told.strip().splitlines()[-3].rsplit(": ", 1)[1])
    return {
        "games": contents["counters"]["games"],
        "plies": contents["counters"]["plies"],
        "seconds": round(contents["counters"]["seconds"], 1),
        "hidden": contents["hidden"],
        "seed": contents["config"]["seed"],
        "minutes": minutes,
        "figures": {spec: contents["figures"][spec] for spec in OPPONENTS},
    }


def told(entry: dict[str, Any]) -> str:
    """What a run reached, in how long, on what: the lines that open its config."""
    random, pips = (entry["figures"][spec] for spec in OPPONENTS)
    return (
        f"# In {entry['minutes']:g} minutes on one core ({entry['processor']}): {entry['games']:,} games, "
        f"{entry['plies']:,} turns. Then\n"
        f"# {random['ppg']:+.3f} points a game against random ({100 * random['wins']:.1f} % of the games won), "
        f"{pips['ppg']:+.3f} ({pips['low']:+.3f} .. {pips['high']:+.3f}) against pips.\n"
        "# `python benchmarks/family.py` runs it again.\n"
    )


def open_config(name: str, entry: dict[str, Any]) -> None:
    """Let the config of a game begin with what its run reached."""
    path = ROOT / "configs" / f"{name}.toml"
    settings = [line for line in path.read_text("utf-8").splitlines(keepends=True) if not line.startswith("#")]
    path.write_text(f"# {find_ruleset(name).title}.\n{told(entry)}{''.join(settings)}", encoding="utf-8")


def falls_short(entry: dict[str, Any]) -> str:
    """Which of the two bars a game misses: 75 % of the wins against random, above 0 against pips."""
    missed = []
    if entry["figures"]["random"]["wins"] < 0.75:
        missed.append("random")
    if entry["figures"]["pips"]["low"] <= 0:
        missed.append("pips")
    return ", ".join(missed)


def table(figures: Figures) -> str:
    """The figures as a Markdown table."""
    rows = []
    for name, entry in figures.items():
        against = entry["figures"]
        ppg = {spec: f"{r['ppg']:+.3f} ({r['low']:+.3f} .. {r['high']:+.3f})" for spec, r in against.items()}
        wins = f"{100 * against['random']['wins']:.1f} %"
        shown = [find_ruleset(name).title, f"{entry['games']:,}", wins, ppg["random"], ppg["pips"]]
        rows.append([*shown, falls_short(entry) or "-"])
    return as_table(COLUMNS, rows)


def main() -> int:
    """Train, keep the figures in family.json, print the table."""
    args = arguments(
        "benchmarks/family.py",
        "Train every game from its config for a short time, play random and pips, print a table, "
        "and write into each config what its run reached.",
        minutes=2.0,
    )
    figures = read(FIGURES)
    if not args.show:
        for name, entry in swept(args.variants, lambda name: trained(name, args.minutes), args.at_once):
            figures[name] = entry
            open_config(name, entry)
            keep(figures, FIGURES)
    print(table(figures))
    return 0


if __name__ == "__main__":
    run(main)
