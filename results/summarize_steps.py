#!/usr/bin/env python3
"""Recompute the summary of `minigift step` from its steps.csv alone.

usage: summarize_steps.py FOLDER|steps.csv [--check run.json]

Prints one JSON object per method, with the names and units of a measurement's "summary" in run.json. --check compares
with such a file and ends with status 1 if any number differs by more than 1e-9 of itself. Needs nothing but Python 3.
"""

import argparse
import csv
import json
import math
import pathlib
import sys

PHASES = ["forward", "backward", "refresh", "coordinates", "encode", "wire", "decode", "optimizer", "other"]
LOCAL = ["refresh", "coordinates", "encode", "decode"]
RESAMPLES = 2000
MASK = (1 << 64) - 1


def numbers(rows, column):
    """Measured values of a column."""
    return [float(row[column]) for row in rows if row[column] != ""]


def quantile(values, q):
    ordered = sorted(values)
    if not ordered:
        return None
    place = q * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def median(values):
    return quantile(values, 0.5)


def mean(values):
    return sum(values) / len(values) if values else None


def largest(values):
    return max(values) if values else None


def split_mix(seed):
    """64-bit numbers of SplitMix64."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def bootstrap_median(values):
    """95 % percentile interval of the median, with the program's own random numbers."""
    if not values:
        return None, None
    stream = split_mix(1)
    count = len(values)
    medians = []
    for _ in range(RESAMPLES):
        medians.append(median([values[((next(stream) >> 32) * count) >> 32] for _ in range(count)]))
    return quantile(medians, 0.5 * (1 - 0.95)), quantile(medians, 0.5 * (1 + 0.95))


def summarize(rows):
    """The summary of one method's rows."""
    measured = [row for row in rows if row["warmup"] == "false" and row["skipped"] == "false"]
    step = numbers(measured, "step_seconds")
    low, high = bootstrap_median(step)
    result = {
        "iterations": len(measured),
        "skipped": sum(row["skipped"] == "true" for row in rows),
        "step_seconds_median": median(step),
        "step_seconds_low": low,
        "step_seconds_high": high,
        "step_seconds_p95": quantile(step, 0.95),
        "step_seconds_mean": mean(step),
    }
    for phase in PHASES:
        values = numbers(measured, phase + "_seconds")
        result[phase + "_seconds_median"] = median(values)
        result[phase + "_seconds_mean"] = mean(values)
    result["exposed_seconds_median"] = median(numbers(measured, "exposed_seconds"))
    result["skew"] = median([float(row["busy_seconds"]) / float(row["busy_seconds_minimum"]) - 1 for row in measured])
    counts = {}
    for row in measured:
        counts[int(row["slowest_rank"])] = counts.get(int(row["slowest_rank"]), 0) + 1
    slowest = min(counts, key=lambda rank: (-counts[rank], rank)) if counts else 0
    result["slowest_rank"] = slowest
    result["slowest_share"] = counts[slowest] / len(measured) if counts else None
    tokens = int(measured[-1]["tokens"]) if measured else 0
    result["tokens_per_second"] = tokens / result["step_seconds_median"] if tokens else None
    result["gradient_bandwidth"] = median(
        [float(row["gradient_bytes"]) / float(row["exposed_seconds"]) for row in measured])
    for column in ["payload_bytes", "wire_bytes", "metadata_bytes", "update_bytes", "staged_bytes"]:
        result[column] = mean(numbers(measured, column))
    result["relative_l2_error"] = largest(numbers(rows, "relative_l2_error"))
    result["error_bound"] = largest(numbers(rows, "error_bound"))
    result["saturated_fraction"] = mean(numbers(measured, "saturated_fraction"))
    result["flushed_fraction"] = mean(numbers(measured, "flushed_fraction"))
    result["selected_tensors"] = int(measured[-1]["selected_tensors"]) if measured else 0
    result["fallback_tensors"] = int(measured[-1]["fallback_tensors"]) if measured else 0
    return result


def break_even(method, reference):
    """Link speed [B/s] below which `method` is faster; "always" if it adds no work, 0 if it saves no bytes."""
    saved = reference["wire_bytes"] - method["wire_bytes"]
    if not saved > 0:
        return 0.0
    added = sum(method[p + "_seconds_mean"] for p in LOCAL) - sum(reference[p + "_seconds_mean"] for p in LOCAL)
    return saved / added if added > 0 else "always"


def summarize_file(path):
    methods = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            methods.setdefault(row["method"], []).append(row)
    if not methods or "exposed_seconds" not in next(iter(methods.values()))[0]:
        sys.exit(f"{path}: no rows of minigift step")
    summaries = {name: summarize(rows) for name, rows in methods.items()}
    for reference in ["fp32", "bf16"]:
        for name, summary in summaries.items():
            known = reference in summaries and name != reference
            summary["break_even_" + reference] = break_even(summary, summaries[reference]) if known else None
    return summaries


def difference(mine, theirs):
    """The first name whose values differ, or None."""
    for name in theirs.keys() | mine.keys():
        a, b = mine.get(name), theirs.get(name)
        if isinstance(a, (int, float)) and isinstance(b, (int, float)):
            if not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-15):
                return f"{name}: {a} from steps.csv, {b} in run.json"
        elif a != b:
            return f"{name}: {a} from steps.csv, {b} in run.json"
    return None


def main():
    parser = argparse.ArgumentParser(description="Recompute the summary of minigift step from its steps.csv alone.")
    parser.add_argument("path", help="results folder, or its steps.csv")
    parser.add_argument("--check", metavar="RUN.JSON", help="compare with this record; status 1 if a number differs")
    arguments = parser.parse_args()
    path = pathlib.Path(arguments.path)
    if path.is_dir():
        path = path / "steps.csv"
    if not path.is_file():
        parser.error(f"{path}: no such file")
    summaries = summarize_file(path)
    for name, summary in summaries.items():
        print(json.dumps({"method": name, **summary}))
    if arguments.check is None:
        return 0
    with open(arguments.check, encoding="utf-8") as file:
        record = json.load(file)
    recorded = {m["comparable"]["method"]: m["summary"] for m in record["measurements"]}
    if recorded.keys() != summaries.keys():
        print(f"methods differ: {sorted(summaries)} and {sorted(recorded)}", file=sys.stderr)
        return 1
    for name, summary in summaries.items():
        problem = difference(summary, recorded[name])
        if problem:
            print(f"{name}: {problem}", file=sys.stderr)
            return 1
    print(f"steps.csv and {arguments.check} agree in {sum(len(s) for s in summaries.values())} values")
    return 0


if __name__ == "__main__":
    sys.exit(main())
