"""A training script that knows nothing of robustness: arguments in, a line of JSON for each epoch out."""

import argparse
import json
import random

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, required=True)
parser.add_argument("--optimizer", choices=["sgd", "momentum"], required=True)
parser.add_argument("--seed", type=int, required=True)
arguments = parser.parse_args()

# Least squares of a line through noisy points, by gradient descent.
random.seed(arguments.seed)
points = [(x / 50 - 1, 3 * (x / 50 - 1) + 1 + random.gauss(0, 0.1)) for x in range(101)]
slope = intercept = slope_speed = intercept_speed = 0.0
keep = 0.9 if arguments.optimizer == "momentum" else 0.0
for epoch in range(1, 21):
    errors = [(slope * x + intercept - y, x) for x, y in points]
    slope_speed = keep * slope_speed + sum(error * x for error, x in errors) / len(points)
    intercept_speed = keep * intercept_speed + sum(error for error, _ in errors) / len(points)
    slope, intercept = slope - arguments.lr * slope_speed, intercept - arguments.lr * intercept_speed
    mean_square = sum((slope * x + intercept - y) ** 2 for x, y in points) / len(points)
    print(json.dumps({"epoch": epoch, "loss": mean_square, "explained": 1 - mean_square / 3.1}), flush=True)
