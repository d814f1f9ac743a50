# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command beside a program that only calculates.

Usage: beside.py CALCULATES PAUSES COMMAND...: the program calculates and pauses for so many
milliseconds in turn, until the command ends; 0 pauses: it calculates without end.
"""
import os
import signal
import subprocess
import sys
import time


def calculate(busy_s, pause_s):
    while True:
        end = time.monotonic() + busy_s
        while time.monotonic() < end:
            pass
        if pause_s:
            time.sleep(pause_s)


def main():
    busy_s, pause_s = (float(text) / 1000 for text in sys.argv[1:3])
    child = os.fork()
    if child == 0:
        calculate(busy_s, pause_s)
    try:
        with subprocess.Popen(sys.argv[3:]) as command:
            # The launcher ends its ranks when it gets this signal.
            signal.signal(signal.SIGTERM, lambda *_: command.terminate())
            code = command.wait()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main())
