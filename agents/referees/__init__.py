"""Referees: engines we did not write, each in a process of its own, for the rulesets they know."""
