"""Final models: what the report says of them."""
