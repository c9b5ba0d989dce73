#!/usr/bin/env python3
"""Recomputes what a report of `sweep` says about cliffs from the timed calls that are saved in it.

usage: recompute_sweep.py REPORT.json

Shares nothing with the program but the method: for every pair of sizes at most three apart the cost per byte at the
larger is tested against that at the smaller (one-sided Mann-Whitney, here by counting in whole numbers over all ways to
deal the ranks that were seen), Holm over all pairs, and the drop is 1 - exp(-Hodges-Lehmann shift of the logarithms).
Prints each answer with its recomputed numbers; exits with 1 when one differs."""
import itertools
import json
import math
import statistics
import sys
from fractions import Fraction

REACH, FEWEST, MOST, LEAST_DROP, LEVEL = 3, 7, 48, 0.10, 0.002


def rows_of(report, name):
    for series in report["series"]:
        if series["name"] == name:
            return [dict(zip(series["columns"], row)) for row in series["rows"]]
    return []


def samples_of(report):
    """(operation, type, load) → {bytes: [us, …]}"""
    curves = {}
    for series in report["series"]:
        if not series["name"].startswith("sweep_samples."):
            continue
        for row in rows_of(report, series["name"]):
            key = (series["name"].removeprefix("sweep_samples."), row["type"], row["load"])
            curves.setdefault(key, {}).setdefault(row["bytes"], []).append(row["us"])
    return curves


def thinned(sample):
    return sample if len(sample) <= MOST else [sample[i * len(sample) // MOST] for i in range(MOST)]


def mann_whitney(larger, smaller):
    """P(rank sum of `larger` is at least the one seen), every assignment of these mid-ranks being alike."""
    both = sorted(larger + smaller)
    rank = {value: 2 * both.index(value) + both.count(value) + 1 for value in set(both)}  # twice the mid-rank
    seen = sum(rank[value] for value in larger)
    ways = [{0: 1}] + [{} for _ in larger]
    for value in both:
        for taken in range(len(larger), 0, -1):
            for total, count in ways[taken - 1].items():
                key = total + rank[value]
                ways[taken][key] = ways[taken].get(key, 0) + count
    at_least = sum(count for total, count in ways[-1].items() if total >= seen)
    return Fraction(at_least, math.comb(len(both), len(larger)))


def holm(p_values):
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [None] * len(p_values), Fraction(0)
    for place, i in enumerate(order):
        largest = max(largest, min(Fraction(1), p_values[i] * (len(p_values) - place)))
        adjusted[i] = largest
    return adjusted


def pairs_of(curve):
    """{(smaller, larger): (adjusted p, drop)}"""
    costs = {size: [math.log(us / size) for us in thinned(times)] for size, times in sorted(curve.items())
             if len(times) >= FEWEST}
    sizes = list(costs)
    pairs = [(sizes[i], sizes[j]) for j in range(len(sizes)) for i in range(max(0, j - REACH), j)]
    adjusted = holm([mann_whitney(costs[large], costs[small]) for small, large in pairs])
    drop = {(small, large): 1 - math.exp(-statistics.median(a - b for a, b in itertools.product(costs[large], costs[small])))
            for small, large in pairs}
    return {pair: (float(p), drop[pair]) for pair, p in zip(pairs, adjusted)}


def level_of(curve):
    """Asked again with more repeats, the family's level shrinks with their square."""
    most = max(min(len(times), MOST) for times in curve.values() if len(times) >= FEWEST)
    return LEVEL / max(1.0, most / 10) ** 2


def jumps(times):
    quartiles = statistics.quantiles(times, n=4, method="inclusive")
    return quartiles[2] >= 4 * quartiles[0]


def check(report):
    """Lines that say what was compared, and those that differ."""
    said, wrong = [], []
    curves = samples_of(report)
    answers = {}
    for row in rows_of(report, "fabric_cliffs"):
        if row.get("source", "sweep") == "sweep":
            answers.setdefault((row["operation"], row["type"], row["load"]), []).append(row)
    with_floats = {operation for operation, kind, _ in curves if kind == "float"}
    for key, curve in curves.items():
        if key[0] in with_floats and key[1] != "float":
            continue   # swept beside floats, to price by: nothing is said of it
        if key not in answers:
            wrong.append(f"{' '.join(key)}: no answer")
            continue
        pairs = pairs_of(curve)
        unstable = {size for size, times in curve.items() if jumps(times)}
        judged = {pair: found for pair, found in pairs.items() if not set(pair) <= unstable}
        significant = [pair for pair, (p, drop) in judged.items() if p < level_of(curve) and drop >= LEAST_DROP]
        named = [row for row in answers[key] if row["answer"] in ("cliff", "cache-capacity")]
        if bool(named) != bool(significant):
            wrong.append(f"{' '.join(key)}: {len(named)} cliffs in the report, {len(significant)} significant pairs here")
        for row in answers[key]:
            pair = (row["from_bytes"], row["to_bytes"])
            line = f"{' '.join(key)} {row['answer']} {pair[0]} to {pair[1]}"
            if row["p_value"] is not None:
                p, drop = pairs[pair]
                line += f": p {row['p_value']:.6g} here {p:.6g}, drop {row['drop_percent']:.6g} % here {100 * drop:.6g} %"
                if not math.isclose(p, row["p_value"], rel_tol=1e-9) or abs(100 * drop - row["drop_percent"]) > 1e-6:
                    wrong.append(line)
            if row["answer"] in ("cliff", "cache-capacity") and pair not in significant:
                wrong.append(line + ": not significant here")
            said.append(line)
    return said, wrong


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        said, wrong = check(json.load(file))
    print("\n".join(said + ["DIFFERS " + line for line in wrong]))
    sys.exit(1 if wrong or not said else 0)


if __name__ == "__main__":
    main()
