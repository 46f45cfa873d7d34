"""The paper's augmentation (appendix D.1) of a batch on its device, as a single affine resampling.

From output to input coordinates each step is an affine map: the crop to 90-110 % with resizing is a scale s and a shift
of at most |1 - s|; padding by 0-5 % and cropping back is a shift; then follow the rotation and the flips. Their product
is one 2 x 3 matrix per image, so pixels are interpolated only once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from robustness.trainables.classification.devices import to_device

MAX_PADDING = 0.05
CROP = (0.9, 1.1)


def augment(images: Tensor, generator: torch.Generator) -> Tensor:
    """Randomly flip, rotate, shift and scale images; pixels outside the original image become 0.

    images: [batch, channels, height, width], floating point, scaled to 0 to 1 and not yet normalised (so that 0 is
    black); the result has the same shape, dtype, device and memory format. All random numbers are drawn on the CPU from
    `generator`, a CPU generator, always the same number per image.
    """
    theta = random_maps(len(images), generator, aspect=images.shape[3] / images.shape[2])
    theta = to_device(theta.to(images.dtype), images.device)
    batch, channels, height, width = images.shape
    grid = affine_grid(theta, [batch, channels, height, width], align_corners=False)
    result = grid_sample(images, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    if images.is_contiguous(memory_format=torch.channels_last):
        return result.contiguous(memory_format=torch.channels_last)
    return result


def random_maps(count: int, generator: torch.Generator, aspect: float = 1.0) -> Tensor:
    """Random affine maps from output to input coordinates, both from -1 to 1: [count, 2, 3], on the CPU.

    theta = flip @ rotation @ [s I | shift]; `aspect` is width / height, so that a rotation does not distort the image.
    """
    draws = torch.rand(count, 10, generator=generator)
    symmetric = 2 * draws - 1
    flips = torch.where(draws[:, :2] < 0.5, -1.0, 1.0)
    angle = math.pi * symmetric[:, 2]
    # Padding both sides by a fraction p of the width lets the crop move by p widths either way: 2 p in coordinates.
    shift = 2 * MAX_PADDING * draws[:, 3:5] * symmetric[:, 5:7]
    scale = CROP[0] + (CROP[1] - CROP[0]) * draws[:, 7]
    shift = shift + (1 - scale).abs()[:, None] * symmetric[:, 8:10]
    cosine, sine = angle.cos(), angle.sin()
    rotation = torch.stack(
        [torch.stack([cosine, -sine / aspect], dim=1), torch.stack([sine * aspect, cosine], dim=1)], dim=1
    )
    turned = flips[:, :, None] * rotation
    return torch.cat([turned * scale[:, None, None], turned @ shift[:, :, None]], dim=2)
