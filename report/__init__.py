"""The robustness report: frames, statistics, figures and the page, all read from the store."""
