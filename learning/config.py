"""The config of a run: TOML into pydantic models. Every key, its type, default and one line stand here."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tomli_w
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from agents.network import has_fast_bfloat16
from engine.ruleset import InputError

BUDGETS = ("updates", "games", "plies", "minutes")  # of a run
PLAYERS_A_CORE = 2  # one finds plays while the net judges what the other found


class ConfigError(InputError):
    """A config file or a setting on the command line is wrong; the message names file, key and what would be right."""


def _rises(schedule: list[list[float]]) -> list[list[float]]:
    """A schedule's progress values rise within 0..1."""
    progress = [point[0] for point in schedule]
    if progress != sorted(progress) or progress[0] < 0 or progress[-1] > 1:
        raise ValueError("a schedule is a list of [progress, value] pairs, progress rising within 0..1")
    return schedule


Points = list[Annotated[list[float], Field(min_length=2, max_length=2)]]
Schedule = float | Annotated[Points, Field(min_length=1), AfterValidator(_rises)]


def _within(low: float, high: float) -> AfterValidator:
    """All values of a schedule lie within low..high."""

    def check(schedule: float | Points) -> float | Points:
        values = [point[1] for point in schedule] if isinstance(schedule, list) else [schedule]
        if not all(low <= value <= high for value in values):
            raise ValueError(f"must lie within {low:g}..{high:g}")
        return schedule

    return AfterValidator(check)


Share = Annotated[Schedule, _within(0, 1)]
Amount = Annotated[Schedule, _within(0, 1000)]
Count = Annotated[Schedule, _within(1, 1_000_000)]


def at(schedule: float | Points, progress: float) -> float:
    """The value of a schedule at a progress of 0..1 through the budget: constant, or linear between its points."""
    if isinstance(schedule, list):
        return float(np.interp(progress, [point[0] for point in schedule], [point[1] for point in schedule]))
    return schedule


class Section(BaseModel):
    """What all sections share: unknown keys are refused, numbers are not taken from text."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True)


class Net(Section):
    """The value net."""

    hidden: list[Annotated[int, Field(ge=1)]] = Field(
        [128, 128], min_length=1, description="width of each hidden layer"
    )


class SelfPlay(Section):
    """The games the net plays against itself."""

    batch: int = Field(2000, ge=1, le=65_536, description="games at once")
    plies: int = Field(8, ge=1, description="decisions in each game before the net learns from them")
    noise: Amount = Field(
        0.0, description="standard deviation added to equities while choosing, in points; may be a schedule"
    )
    glance: Share = Field(
        0.01,
        description="of the decisions it is fitted to, share whose best play a glance may drop; 0: none; with noise, "
        "players, a GPU, a bear-off table, one hidden layer or a first one wider than 128 there is none anyway",
    )
    precision: Literal["float32", "bfloat16", "auto"] = Field(
        "auto",
        description="of the net's inner layers while choosing; auto: bfloat16 where the processor multiplies it "
        "faster, which is measured and written into the run's config, float32 elsewhere and on a GPU",
    )


class Td(Section):
    """Targets and choices; each value may be a schedule over the budget."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_default=True, populate_by_name=True)
    lambda_: Share = Field(
        [[0.0, 0.9], [0.5, 0.9], [1.0, 0.4]],
        alias="lambda",
        description="weight of longer returns, 0 (one decision) to 1 (outcome only)",
    )
    exact: Share = Field(
        0.0, description="share of positions whose target is the mean over all rolls of the best reply's values"
    )
    bearoff: str = Field("", description="a table of `python -m arena bearoff`: exact values where both bear off")
    gammon_weight: Amount = Field(1.0, description="weight, while choosing, of what a win pays beyond the least")


class Train(Section):
    """Where the weights come from."""

    init: str = Field("", description="a checkpoint or policy to start from; a larger net is filled from a smaller one")


class Optimizer(Section):
    """Adam; each value may be a schedule over the budget."""

    rate: Amount = Field(
        [[0.0, 0.003], [1.0, 0.00002]], description="learning rate; never report a run that has not decayed"
    )
    minibatch: Count = Field(500, description="positions a step")
    epochs: Count = Field(1, description="passes over the positions of an update")


class Run(Section):
    """How long a run is, and what it leaves behind. The budget that is used up first ends the run."""

    name: str = Field("", description="folder in runs/; empty: the name of the config file")
    updates: int | None = Field(None, ge=1, description="budget: updates of the net")
    games: int | None = Field(None, ge=1, description="budget: finished games")
    plies: int | None = Field(None, ge=1, description="budget: turns played, over all games")
    minutes: float | None = Field(None, gt=0, description="budget: minutes, evaluations not counted")
    save_minutes: float | None = Field(5.0, gt=0, description="minutes between checkpoints")
    save_updates: int | None = Field(None, ge=1, description="updates between checkpoints")
    workers: int | Literal["cores"] = Field(1, description="processes that play and learn together; cores: one a core")
    players: int | Literal["cores"] = Field(
        0, description="processes that play for each of these and ask its net; 0: it plays itself; cores: two a core"
    )
    device: Literal["cpu", "cuda"] = Field("cpu", description="where the net is: cpu, or cuda for a GPU")
    threads: int = Field(1, ge=1, description="threads of the net in each process; more gain little for small nets")


class Evaluate(Section):
    """Games against fixed opponents."""

    opponents: list[str] = Field(["random", "pips"], description="agents, as evaluate.py writes them")
    games: int = Field(2000, ge=2, description="games against each, in pairs with shared dice")
    times: int = Field(5, ge=1, description="evaluations in a run, evenly over its budget, the last at its end")


class Config(Section):
    """A whole run."""

    variant: str = Field(description="a game that `python -m engine list` prints")
    seed: int = Field(0, ge=0, description="of dice, weights and minibatches")
    rules: dict[str, StrictBool | StrictInt | StrictStr] = Field(
        {}, description="house rules, see `python -m engine show VARIANT`"
    )
    net: Net = Net()
    selfplay: SelfPlay = SelfPlay()
    train: Train = Train()
    td: Td = Td()
    optimizer: Optimizer = Optimizer()
    run: Run = Run()
    evaluate: Evaluate = Evaluate()

    @model_validator(mode="after")
    def _divides_by_processes(self) -> Config:
        batch, workers, players = self.selfplay.batch, self.run.workers, self.run.players
        if isinstance(workers, int) and (workers < 1 or batch % workers):
            raise ValueError(f"run.workers: {workers} processes cannot share selfplay.batch={batch} games")
        if (
            isinstance(workers, int)
            and isinstance(players, int)
            and (players < 0 or batch % (workers * (players or 1)))
        ):
            raise ValueError(f"run.players: {workers} x {players} processes cannot share selfplay.batch={batch} games")
        return self

    @model_validator(mode="after")
    def _has_a_budget(self) -> Config:
        if all(getattr(self.run, name) is None for name in BUDGETS):
            raise ValueError("run: no budget; set run.updates, run.games, run.plies or run.minutes")
        return self


def load_config(path: Path, settings: Sequence[str] = ()) -> Config:
    """The config of a TOML file, with `section.key=value` settings from the command line on top.

    Raises:
        ConfigError: no such file, not TOML, an unknown key, a wrong type or range, or no budget.
    """
    try:
        tree = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such config; those that come with the program are in configs/") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    for setting in settings:
        _override(tree, setting)
    run, selfplay = tree.setdefault("run", {}), tree.setdefault("selfplay", {})
    if isinstance(selfplay, dict) and isinstance(run, dict):
        if selfplay.get("precision", "auto") == "auto":
            is_fast = run.get("device", "cpu") == "cpu" and has_fast_bfloat16()
            selfplay["precision"] = "bfloat16" if is_fast else "float32"
        run["name"] = run.get("name") or path.stem
        cores = os.cpu_count() or 1
        if run.get("workers") == "cores":
            run["workers"] = cores
        if run.get("players") == "cores":
            run["players"] = PLAYERS_A_CORE * cores
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        raise ConfigError(f"{path}: {_first_problem(error)}") from None


def dump_config(config: Config) -> str:
    """The config as TOML that `load_config` reads as the same; keys that are unset are left out."""
    return tomli_w.dumps(config.model_dump(mode="json", by_alias=True, exclude_none=True))


def _override(tree: dict[str, Any], setting: str) -> None:
    """Write one `section.key=value` into the tree; the value is read as TOML, or else as plain text."""
    name, equals, text = setting.partition("=")
    if not equals or not name:
        raise ConfigError(f"{setting!r}: must be KEY=VALUE, such as run.minutes=3 or seed=7")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *sections, key = name.split(".")
    place = tree
    for section in sections:
        place = place.setdefault(section, {})
        if not isinstance(place, dict):
            raise ConfigError(f"{setting!r}: {section} is a value, not a section")
    place[key] = value


def _first_problem(error: ValidationError) -> str:
    """The first problem of a validation as `section.key: what is wrong; what would be right`."""
    problems = error.errors()  # of a schedule that is no number, what is wrong with its points says more
    problem = next(
        (p for p in problems if not (p["type"] == "float_type" and isinstance(p["input"], list))), problems[0]
    )
    place = ".".join(str(part) for part in problem["loc"] if not (isinstance(part, str) and "[" in part))
    place = place.removesuffix(".float")
    if problem["type"] == "extra_forbidden":
        *sections, key = place.split(".")
        known = [name.rsplit(".", 1)[-1] for name, _ in keys() if name.split(".")[:-1] == sections]
        if not sections:
            known += [name for name, field in Config.model_fields.items() if isinstance(field.annotation, type)]
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
        return f"{place}: unknown key; did you mean {near[0]!r}?" if near else f"{place}: unknown key"
    if not place:
        return problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "missing":
        return f"{place}: missing; it must be given"
    return f"{place}: {problem['msg'].removeprefix('Value error, ')}, not {problem['input']!r}"


def keys() -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Every key of a config, as `section.key`, with its type, default and one line."""
    for name, field in Config.model_fields.items():
        model = field.annotation
        if isinstance(model, type) and issubclass(model, Section):
            for key, inner in model.model_fields.items():
                yield f"{name}.{inner.alias or key}", _described(inner)
        else:
            yield name, _described(field)


def _described(field: Any) -> tuple[str, str, str]:
    """Type, default and description of a field, as text."""
    text = str(field.annotation) if not isinstance(field.annotation, type) else field.annotation.__name__
    for long, short in (
        ("typing.", ""),
        ("NoneType", "none"),
        (" | None", ""),
        ("list[tuple[float, float]]", "schedule"),
    ):
        text = text.replace(long, short)
    if "Annotated[int" in text:
        text = "list of int"
    elif text.startswith("dict"):
        text = "table"
    default = field.get_default()
    shown = "required" if field.is_required() else "none" if default is None else str(default)
    return text, shown.replace("(", "[").replace(")", "]"), field.description or ""
