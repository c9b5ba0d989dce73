#!/usr/bin/env python3
"""Time of `gradsync-doctor --version` beside /bin/true: fork, exec and exit included. Target: at most 10 ms."""
import os
import statistics
import sys
import time

RUNS = 101


def milliseconds(command):
    begin = time.perf_counter_ns()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    os.waitpid(child, 0)
    return (time.perf_counter_ns() - begin) * 1e-6


def main():
    commands = {"--version": [sys.argv[1], "--version"], "/bin/true": ["/bin/true"]}
    samples = {name: [] for name in commands}
    for _ in range(RUNS):  # interleaved, so that both see the same machine
        for name, command in commands.items():
            samples[name].append(milliseconds(command))
    for name, sample in samples.items():
        deciles = statistics.quantiles(sample, n=10)
        print("%-10s %6.2f ms  (p10 %.2f, p90 %.2f, n %d)" % (name, statistics.median(sample), deciles[0], deciles[8], RUNS))


if __name__ == "__main__":
    main()
