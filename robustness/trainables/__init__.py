"""What trains a trial: a folder for each kind of training."""
