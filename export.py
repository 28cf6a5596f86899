"""Export a checkpoint as a policy that plays with numpy alone, or print the card of one.

`python export.py CHECKPOINT OUT.npz|OUT.safetensors` and `python export.py FILE`.
"""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from agents.base import told
from agents.policy import read_policy, write_policy
from agents.policy_card import figures_of, lines_of
from agents.policy_file import SUFFIXES, PolicyError, check_suffix, printable
from cli import Parser, run


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = Parser(
        prog="export.py",
        description="Write the net of a checkpoint as a policy, which plays with numpy alone (policy:OUT); or, without "
        "OUT, print the card of a policy.",
        epilog="example: python export.py runs/quick quick.npz",
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a checkpoint or a run folder; without OUT, a policy")
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT", help=f"ends with {' or '.join(SUFFIXES)}")
    parser.add_argument("--force", action="store_true", help="write OUT even where there is such a file")
    parser.add_argument("--figures", type=Path, nargs="+", default=[], metavar="JSON", help="what evaluate.py --json "
                        "wrote of this net, for the card; without it, the run's last evaluation")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the card as JSON")
    args = parser.parse_args()
    if args.out is None and args.file.suffix not in SUFFIXES:
        parser.error(f"{args.file} is no policy; to export a checkpoint, give OUT too")
    if args.out is not None and args.json:
        parser.error("--json prints the card of a policy, so there is no OUT")
    return args


def check_out(source: Path, out: Path, force: bool) -> None:
    """Refuse an OUT that cannot or should not be written.

    Raises:
        PolicyError: another suffix, no folder for it, something there that it would overwrite.
    """
    check_suffix(out)
    try:
        if not out.parent.is_dir():
            raise PolicyError(f"{out}: there is no folder {out.parent}")
        if out.is_dir():
            raise PolicyError(f"{out}: is a folder")
        if out.exists() and source.exists() and out.samefile(source):
            raise PolicyError(f"{out}: would overwrite the checkpoint itself")
        if out.exists() and not force:
            raise PolicyError(f"{out}: exists already; --force overwrites it")
    except OSError as error:  # no access, too long a name
        raise PolicyError(f"{out}: cannot be written ({error.strerror})") from None


def export(source: Path, out: Path, figures: list[Path]) -> None:
    """Write the net of a checkpoint as a policy, with figures of evaluations in its card."""
    from agents.network import network_of, read_checkpoint  # torch, which printing a card does without

    contents = read_checkpoint(source)
    net = network_of(contents, source)
    arrays = {name: tensor.numpy() for name, tensor in net.state_dict().items()}
    about = {name: contents.get(name, {}) for name in ("config", "counters", "figures")}
    about["figures"] = figures_of(figures, net.rules) or about["figures"]
    size = write_policy(out, net.rules, arrays, list(net.hidden), about)
    print(f"{out}: {told(net.rules)}, hidden layers {'-'.join(map(str, net.hidden))}, {size:,} bytes")
    words = [net.rules.name, f"policy:{out}", "pips", *(f"rules.{name}={value}" for name, value in net.rules.house)]
    print(f"play it: python evaluate.py {shlex.join(words)}")


def main() -> int:
    """Export, or print a card."""
    args = arguments()
    if args.out is not None:
        check_out(args.file, args.out, args.force)
        export(args.file, args.out, args.figures)
        return 0
    card = read_policy(args.file).card
    lines = json.dumps(card, indent=1).split("\n") if args.json else lines_of(card)
    print("\n".join(printable(line) for line in lines))
    return 0


if __name__ == "__main__":
    run(main)
