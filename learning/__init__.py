"""How an agent gets better: self-play, targets, learning, and what a run leaves behind."""
