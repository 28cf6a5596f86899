"""Who chooses: every kind of player, made from a spec such as `pips` or `td:runs/irish`."""
