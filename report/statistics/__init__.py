"""Pure statistics over counts and arrays: no store, no frames, no figures."""
