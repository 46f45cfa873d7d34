"""Search spaces: the option tree, its conditions, and the samplers that draw configurations from it."""
