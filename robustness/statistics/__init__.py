"""Statistics of the report: pure functions over arrays and plain numbers, a module a topic, without any plotting."""
