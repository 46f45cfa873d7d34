"""Synthetic fundus photographs: retina, optic disc, vessels and the lesions of diabetic retinopathy.

Everything except the edge of the retina is a sum of Gaussian spots. A spot is the product of a function of x and a
function of y, so all spots of an image are drawn by one matrix product [size, spots] @ [spots, size], at any size.
Coordinates range from -1 to 1; lengths are in half-widths of the image.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]

CHUNK = 64
"""Number of images that share a random stream; fixed, so that a smaller data set is a prefix of a larger one."""

MICROANEURYSMS = (0.5, 4.0, 6.0, 10.0, 14.0)
HAEMORRHAGES = (0.3, 1.0, 3.0, 7.0, 11.0)
EXUDATES = (0.3, 1.0, 3.0, 7.0, 11.0)
"""Mean number of each kind of lesion for the grades 0 to 4."""

RETINA = np.array([[0.82, 0.46, 0.24], [0.66, 0.30, 0.17]], dtype=np.float32)
"""Colour of the retina in the two cameras: [camera, channel]."""
VESSELS = 8


class Spots(NamedTuple):
    """Gaussian spots: each field is [images, spots]; an absent spot has strength 0."""

    x: Floats
    y: Floats
    radius: Floats
    strength: Floats


class Features(NamedTuple):
    """Features of each of `CHUNK` images."""

    camera: NDArray[np.int64]
    colour: Floats
    """[images, 3]"""
    texture: Spots
    disc: Spots
    macula: Spots
    vessels: Spots
    dark: Spots
    """Microaneurysms, haemorrhages and harmless pigment."""
    bright: Spots
    """Exudates and harmless drusen."""
    blur: Floats
    """[images], standard deviation of the blur; 0 for a sharp image."""
    light: Floats
    """[images], 1 for a well-lit image."""
    artefact: Spots
    grain: Floats
    """[images], standard deviation of the camera noise."""


def draw_features(grades: NDArray[np.int64], size: int, poor: float, rng: np.random.Generator) -> Features:
    """Draw the features of eyes with these grades; a fraction `poor` are blurred, dark or have an artefact.

    The size only determines the number of spots per vessel: the same random numbers produce the same eyes at any size.
    """
    n = len(grades)
    side = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)  # alternating right and left eyes
    camera = rng.integers(2, size=n)
    colour = RETINA[camera] * (1 + rng.normal(0, 0.07, (n, 1)) + rng.normal(0, 0.03, (n, 3)))
    disc_x, disc_y = side * rng.uniform(0.38, 0.56, n), rng.uniform(-0.12, 0.12, n)
    macula_x, macula_y = disc_x - side * rng.uniform(0.48, 0.58, n), disc_y + rng.uniform(0.0, 0.1, n)
    fault = np.where(rng.random(n) < poor, rng.integers(1, 4, size=n), 0)
    return Features(
        camera=camera,
        colour=colour.astype(np.float32),
        texture=_spots(
            rng.uniform(-0.9, 0.9, (n, 6)),
            rng.uniform(-0.9, 0.9, (n, 6)),
            rng.uniform(0.25, 0.5, (n, 6)),
            rng.normal(0, 0.07, (n, 6)),
        ),
        disc=_one_spot(disc_x, disc_y, rng.uniform(0.085, 0.11, n), rng.uniform(2.0, 3.0, n)),
        macula=_one_spot(macula_x, macula_y, rng.uniform(0.12, 0.18, n), rng.uniform(0.2, 0.4, n)),
        vessels=_vessels(disc_x, disc_y, side, min(20 + size, 144), rng),
        dark=_join(
            _scattered(np.take(MICROANEURYSMS, grades), (0.014, 0.024), (1.0, 2.0), rng),
            _scattered(np.take(HAEMORRHAGES, grades), (0.028, 0.065), (1.0, 2.4), rng),
            _scattered(np.full(n, 1.5), (0.02, 0.06), (0.2, 0.7), rng),
        ),
        bright=_join(
            _clustered(np.take(EXUDATES, grades), macula_x, macula_y, rng),
            _scattered(np.full(n, 1.5), (0.015, 0.04), (0.3, 0.9), rng),
        ),
        blur=np.where(fault == 1, rng.uniform(0.05, 0.11, n), 0.0).astype(np.float32),
        light=np.where(fault == 2, rng.uniform(0.2, 0.45, n), 1.0).astype(np.float32),
        artefact=_one_spot(
            rng.uniform(-0.9, 0.9, n),
            rng.uniform(-0.9, 0.9, n),
            rng.uniform(0.2, 0.5, n),
            np.where(fault == 3, rng.uniform(0.6, 1.5, n), 0.0),
        ),
        grain=rng.uniform(0.01, 0.04, n).astype(np.float32),
    )


def draw_images(features: Features, size: int, noise: Floats) -> NDArray[np.uint8]:
    """Render images [n, size, size, 3] of these features; `noise` is standard normal with the same shape."""
    axis = ((2 * np.arange(size) + 1) / size - 1).astype(np.float32)
    x, y = axis[None, None, :], axis[None, :, None]
    camera = features.camera[:, None, None]
    radius_squared = x * x + y * y
    shade = 1.08 - 0.35 * radius_squared + _paint(features.texture, axis)
    image: Floats = features.colour[:, None, None, :] * shade[..., None].astype(np.float32)
    image *= 1 - _cover(features.macula, axis) * np.array([0.5, 0.7, 0.7], dtype=np.float32)
    image = _blend(image, _cover(features.disc, axis), (1.0, 0.86, 0.56))
    image *= 1 - _cover(features.vessels, axis) * np.array([0.35, 0.6, 0.5], dtype=np.float32)
    image *= 1 - _cover(features.dark, axis) * np.array([0.45, 0.85, 0.75], dtype=np.float32)
    image = _blend(image, _cover(features.bright, axis), (0.96, 0.80, 0.46))
    for row in np.flatnonzero(features.blur):
        kernel = _blur_matrix(axis, float(features.blur[row]))
        across = kernel @ image[row]
        image[row] = (kernel @ across.reshape(size, -1)).reshape(size, size, 3)
    image *= features.light[:, None, None, None]
    image = _blend(image, 0.8 * _cover(features.artefact, axis), (0.85, 0.88, 0.95))
    # One camera shows the full disc of the retina, the other cuts it off at the top and bottom.
    edge = np.where(camera == 0, 0.96, 1.04) - np.sqrt(radius_squared)
    edge = np.minimum(edge, np.where(camera == 0, 2.0, 0.86) - np.abs(y))
    image *= np.clip(edge * size / 2 + 0.5, 0, 1)[..., None]
    image += features.grain[:, None, None, None] * noise
    return (255 * np.clip(image, 0, 1) + 0.5).astype(np.uint8)


def _spots(
    x: NDArray[np.float64], y: NDArray[np.float64], radius: NDArray[np.float64], strength: NDArray[np.float64]
) -> Spots:
    return Spots(*(value.astype(np.float32) for value in (x, y, radius, strength)))


def _one_spot(
    x: NDArray[np.float64], y: NDArray[np.float64], radius: NDArray[np.float64], strength: NDArray[np.float64]
) -> Spots:
    return _spots(x[:, None], y[:, None], radius[:, None], strength[:, None])


def _join(*parts: Spots) -> Spots:
    return Spots(*(np.concatenate(fields, axis=1) for fields in zip(*parts, strict=True)))


def _present(mean: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mask [images, spots] in which each image has a Poisson number of spots with the given mean."""
    number = rng.poisson(mean)
    return np.arange(max(1, int(number.max()))) < number[:, None]


def _scattered(
    mean: NDArray[np.float64], radius: tuple[float, float], strength: tuple[float, float], rng: np.random.Generator
) -> Spots:
    """Spots anywhere on the retina."""
    present = _present(mean, rng)
    distance = 0.85 * np.sqrt(rng.random(present.shape))
    angle = rng.uniform(0, 2 * np.pi, present.shape)
    return _spots(
        distance * np.cos(angle),
        distance * np.sin(angle),
        rng.uniform(*radius, present.shape),
        rng.uniform(*strength, present.shape) * present,
    )


def _clustered(
    mean: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator
) -> Spots:
    """Exudates: clustered near the macula."""
    present = _present(mean, rng)
    centre_x, centre_y = x + rng.normal(0, 0.2, len(x)), y + rng.normal(0, 0.2, len(y))
    return _spots(
        centre_x[:, None] + rng.normal(0, 0.2, present.shape),
        centre_y[:, None] + rng.normal(0, 0.2, present.shape),
        rng.uniform(0.02, 0.048, present.shape),
        rng.uniform(1.0, 2.4, present.shape) * present,
    )


def _vessels(
    x: NDArray[np.float64], y: NDArray[np.float64], side: NDArray[np.float64], points: int, rng: np.random.Generator
) -> Spots:
    """Vessels that leave the optic disc and curve around the macula, each a row of `points` overlapping spots."""
    n = len(x)
    # Four vessels above and four below, at angles measured from the direction of the macula.
    start = np.array([1.9, 1.2, 2.4, 1.5, -1.9, -1.2, -2.4, -1.5]) + rng.normal(0, 0.15, (n, VESSELS))
    bend = np.sign(start) * rng.uniform(-1.3, -0.5, (n, VESSELS))
    length = rng.uniform(1.1, 1.7, (n, VESSELS))
    width = np.array([0.02, 0.013, 0.013, 0.011] * 2) * rng.uniform(0.8, 1.2, (n, VESSELS))
    along = np.linspace(0, 1, points)
    angle = start[:, :, None] + bend[:, :, None] * along + 0.1 * np.sin(9 * along + start[:, :, None] * 7)
    step = length[:, :, None] / points
    across = x[:, None, None] - side[:, None, None] * np.cumsum(step * np.cos(angle), axis=2)
    down = y[:, None, None] + np.cumsum(step * np.sin(angle), axis=2)
    thin = width[:, :, None] * (1 - 0.45 * along)
    # Spots with standard deviation w at spacing d, at most about 2 w, sum to sqrt(2 pi) w / d along the line.
    # The contrast of the vessels varies between eyes.
    contrast = rng.uniform(0.5, 2.5, (n, 1, 1))
    strength = contrast * np.minimum(1.0, step / (np.sqrt(2 * np.pi) * thin)) * np.ones_like(angle)
    flat = (n, VESSELS * points)
    return _spots(across.reshape(flat), down.reshape(flat), thin.reshape(flat), strength.reshape(flat))


def _paint(spots: Spots, axis: Floats) -> Floats:
    """Sum of the spots at each pixel: [images, size, size].

    A pixel averages over its square, which blurs like a Gaussian with a standard deviation of 1 / sqrt(12) pixels: a
    spot smaller than a pixel becomes wider and correspondingly fainter.
    """
    pixel = 2 / len(axis)
    variance = spots.radius**2 + pixel**2 / 12
    strength = spots.strength * spots.radius**2 / variance
    horizontal = np.exp(-((axis - spots.x[..., None]) ** 2) / (2 * variance[..., None]))
    vertical = np.exp(-((axis - spots.y[..., None]) ** 2) / (2 * variance[..., None])) * strength[..., None]
    painted: Floats = vertical.transpose(0, 2, 1) @ horizontal
    return painted


def _cover(spots: Spots, axis: Floats) -> Floats:
    """Opacity of the spots, from 0 to 1: [images, size, size, 1]."""
    opacity: Floats = 1 - np.exp(-_paint(spots, axis))
    return opacity[..., None]


def _blend(image: Floats, cover: Floats, colour: tuple[float, float, float]) -> Floats:
    blended: Floats = image + cover * (np.array(colour, dtype=np.float32) - image)
    return blended


def _blur_matrix(axis: Floats, deviation: float) -> Floats:
    """Gaussian blur along one axis as a matrix whose rows sum to 1: [size, size]."""
    kernel = np.exp(-((axis[:, None] - axis[None, :]) ** 2) / (2 * deviation**2))
    blurred: Floats = (kernel / kernel.sum(axis=1, keepdims=True)).astype(np.float32)
    return blurred
