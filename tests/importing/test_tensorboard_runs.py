"""Event files, written by tensorboardX; their records, by hand."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.importing import imported, rows_of
from tensorboardX import SummaryWriter

from robustness.errors import RobustnessError
from robustness.importing.event_files import masked_crc, read_events

RATES = (0.1, 0.25)


def write_runs(folder: Path, hyperparameters: bool) -> None:
    for arm in ("adam", "sgd"):
        for rate in RATES:
            writer = SummaryWriter(str(folder / f"{arm}_lr{rate}_s7"))
            for epoch in range(1, 4):
                writer.add_scalar("val/accuracy", rate * epoch + len(arm), epoch)
            writer.add_scalar("other", 1.0, 0)
            if hyperparameters:
                writer.add_hparams({"method": arm, "rate": rate, "nesterov": True}, {"hparam/final": rate})
            writer.close()


def check(source: str, **options: str) -> None:
    runs = imported(source, metric="val/accuracy", **options).runs
    assert (sorted(runs.arms), len(runs.frame), len(runs.configurations)) == (["adam", "sgd"], 4, 2)
    for row in rows_of(runs):
        values = [row.hyperparameters["rate"] * epoch + len(row.arm) for epoch in (1, 2, 3)]
        # The files hold single precision.
        expected = [struct.unpack("<f", struct.pack("<f", value))[0] for value in values]
        assert row.curve == list(zip((1, 2, 3), expected, strict=True))


def test_hyperparameters_of_the_dashboard_are_read(tmp_path: Path) -> None:
    write_runs(tmp_path, hyperparameters=True)
    check(f"tensorboard:{tmp_path}")
    assert imported(f"tensorboard:{tmp_path}", metric="val/accuracy").runs.configurations[0]["nesterov"] is True


def test_names_of_folders_can_say_them_instead(tmp_path: Path) -> None:
    write_runs(tmp_path, hyperparameters=False)
    with pytest.raises(RobustnessError, match="--names"):
        imported(f"tensorboard:{tmp_path}", metric="val/accuracy")
    check(f"tensorboard:{tmp_path}", names="{arm}_lr{rate}_s{seed}")


def test_the_checksum_is_crc_32c() -> None:
    # The check value of CRC-32C for the digits 1 to 9 is 0xe3069283; the mask is TensorFlow's.
    crc = 0xE3069283
    assert masked_crc(b"123456789") == (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize("damage", ["bit", "length", "text"])
def test_damage_gets_one_line_and_a_cut_file_is_read_as_far_as_it_goes(tmp_path: Path, damage: str) -> None:
    writer = SummaryWriter(str(tmp_path))
    for epoch in range(20):
        writer.add_scalar("accuracy", epoch, epoch)
    writer.close()
    path = next(tmp_path.glob("*tfevents*"))
    content = bytearray(path.read_bytes())
    path.write_bytes(content[:-7])
    assert len(read_events(path).scalars["accuracy"]) == 19
    if damage == "bit":
        content[len(content) // 2] ^= 1
    elif damage == "length":
        content[:8] = struct.pack("<Q", 2**40)
    else:
        content = bytearray(b"accuracy,1\n" * 30)
    path.write_bytes(content)
    with pytest.raises(RobustnessError, match="damaged"):
        read_events(path)
