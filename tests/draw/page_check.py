# SPDX-License-Identifier: BSD-3-Clause
"""How a check fails: with what was told and what should have been."""


def same(told, expected, what):
    assert told == expected, f"{what}: {told!r}, expected {expected!r}"
