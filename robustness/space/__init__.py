"""Search spaces: the option tree, conditions on it, and how configurations are drawn from it."""
