# SPDX-License-Identifier: BSD-3-Clause
"""A check that fails with the actual and the expected value."""


def same(shown, expected, what):
    assert shown == expected, f"{what}: {shown!r}, expected {expected!r}"
