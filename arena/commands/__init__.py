"""The commands of the arena: each module has `arguments(parser)` and `find(args) -> Findings`."""
