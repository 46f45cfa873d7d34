"""Statistics as pure functions over arrays and numbers, one module per topic; nothing here plots."""
