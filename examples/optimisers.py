"""Is Adam less sensitive to its hyperparameters than SGD? On two tasks, in numpy: python examples/optimisers.py"""

from __future__ import annotations

import numpy as np

import robustness as rb


def circle(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    points = generator.normal(size=(300, 2))
    return points, (points**2).sum(axis=1) > 1.4


def stripes(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    points = generator.normal(size=(300, 2))
    return points, np.sin(3 * points[:, 0]) > 0


TASKS = {"circle": circle, "stripes": stripes}


def train(trial: rb.Trial):
    """Train a network with one hidden layer, and yield its accuracy on new points after each epoch."""
    lr, width, streams = trial.hyperparameters["lr"], trial.hyperparameters["width"], rb.Streams.of(trial)
    data = np.random.default_rng(trial.seed)
    make = TASKS[trial.task["name"]]
    (points, labels), (new_points, new_labels) = make(data), make(data)
    start = streams.numpy("initialisation")
    weights = [start.normal(size=(3, width)), start.normal(size=(width + 1, 1)) / width**0.5]
    state = [(np.zeros_like(w), np.zeros_like(w)) for w in weights]
    steps = 0
    for epoch in range(10):
        for batch in np.array_split(streams.numpy("data_order", epoch).permutation(len(points)), 10):
            steps += 1
            inputs = with_one(points[batch])
            hidden = np.tanh(inputs @ weights[0])
            errors = (sigmoid(with_one(hidden) @ weights[1]) - labels[batch, None]) / len(batch)
            back = (errors @ weights[1][:-1].T) * (1 - hidden**2)
            for place, gradient in enumerate((inputs.T @ back, with_one(hidden).T @ errors)):
                weights[place] = weights[place] - lr * step(trial.arm, gradient, state[place], steps)
        scores = with_one(np.tanh(with_one(new_points) @ weights[0])) @ weights[1]
        yield {"accuracy": float(((scores[:, 0] > 0) == new_labels).mean())}


def step(arm, gradient, state, steps):
    if arm == "sgd":
        return gradient
    mean, square = state
    mean += 0.1 * (gradient - mean)
    square += 0.01 * (gradient**2 - square)
    return mean / (1 - 0.9**steps) / (np.sqrt(square / (1 - 0.99**steps)) + 1e-8)


def with_one(values: np.ndarray) -> np.ndarray:
    return np.hstack([values, np.ones((len(values), 1))])


def sigmoid(values: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(values, -50, 50)))


if __name__ == "__main__":
    result = rb.sweep(
        {"sgd": train, "adam": train},
        space={"lr": rb.log(1e-3, 10), "width": [4, 16, 64]},
        tasks=list(TASKS),
        name="optimisers",
        configurations=20,
        metric="accuracy",
        learned_nothing=0.65,
        good=0.85,
        inline=True,
    )
    print(result.verdict)
