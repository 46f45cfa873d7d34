"""The data of the page's script: judged trials, hyperparameters and learning curves, packed into the page."""
