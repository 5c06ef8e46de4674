#!/usr/bin/env python3
"""Draw what `minigift train` wrote: validation loss, its difference to fp32, and where the time of a step went.

usage: plot_training.py FOLDER [--output FILE.png]

Reads FOLDER/steps.csv and FOLDER/run.json, writes FOLDER/training.png. Needs matplotlib.
"""

import argparse
import csv
import json
import pathlib
import statistics
import sys

# Okabe and Ito's colours, told apart with any colour vision; line styles help in print.
COLORS = ["#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D1F"]
STYLES = ["-", "--", "-.", ":"]
PHASES = {
    "forward": "#4C78A8", "backward": "#9ECAE9", "refresh": "#B279A2", "coordinates": "#54A24B", "encode": "#88D27A",
    "wire": "#E45756", "decode": "#F2CF5B", "optimizer": "#9D755D", "other": "#BAB0AC",
}


def number(text):
    """A cell of steps.csv; an empty one was not measured."""
    return float(text) if text else None


def read_steps(path):
    """Rows of steps.csv by method, methods in the order in which they ran."""
    methods = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            methods.setdefault(row["method"], []).append(row)
    if not methods:
        sys.exit(f"{path}: no steps")
    return methods


def curve(rows, column):
    """Steps and values of a column where it was measured."""
    points = [(int(row["step"]), number(row[column])) for row in rows if row[column]]
    return [step for step, _ in points], [value for _, value in points]


def label_ends(axis, curves):
    """Names at the right ends of the curves, moved apart so that none covers another."""
    low, high = axis.get_ylim()
    gap = 0.055 * (high - low)
    ends = sorted((values[-1], name, color) for name, values, color in curves if values)
    places = []
    for value, name, color in ends:
        places.append(max(value, places[-1] + gap) if places else value)
    if places:
        shift = max(0.0, places[-1] - (high - 0.3 * gap))
        for place, (_, name, color) in zip(places, ends):
            axis.annotate(name, (1.01, place - shift), xycoords=("axes fraction", "data"), color=color, va="center",
                          fontsize=9, annotation_clip=False)


def plot_loss(axis, methods, look):
    drawn = []
    for name, rows in methods.items():
        steps, values = curve(rows, "validation_loss")
        axis.plot(steps, values, label=name, marker="o", markersize=3, **look[name])
        drawn.append((name, values, look[name]["color"]))
    axis.set(title="Validation loss", xlabel="optimizer step", ylabel="loss (nats/token)")
    axis.locator_params(axis="x", integer=True)
    axis.grid(alpha=0.3)
    label_ends(axis, drawn)


def plot_difference(axis, methods, look):
    """Loss minus that of fp32 at the same step; without fp32 in the run, minus the first method's."""
    base = "fp32" if "fp32" in methods else next(iter(methods))
    reference = dict(zip(*curve(methods[base], "validation_loss")))
    drawn = []
    for name, rows in methods.items():
        if name == base:
            continue
        pairs = [(s, v - reference[s]) for s, v in zip(*curve(rows, "validation_loss")) if s in reference]
        values = [1e3 * value for _, value in pairs]
        axis.plot([step for step, _ in pairs], values, marker="o", markersize=3, **look[name])
        drawn.append((name, values, look[name]["color"]))
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set(title=f"Difference to {base}", xlabel="optimizer step", ylabel="difference ($10^{-3}$ nats/token)")
    axis.locator_params(axis="x", integer=True)
    axis.grid(alpha=0.3)
    label_ends(axis, drawn)


def plot_phases(axis, methods, warmup):
    names = list(methods)
    left = [0.0] * len(names)
    for phase, color in PHASES.items():
        column = f"{phase}_seconds"
        widths = []
        for name in names:
            rows = methods[name][min(warmup, len(methods[name]) - 1):]
            widths.append(1e3 * statistics.fmean(number(row[column]) or 0.0 for row in rows))
        axis.barh(names, widths, left=left, color=color, label=phase, edgecolor="white", linewidth=0.5)
        left = [a + b for a, b in zip(left, widths)]
    for name, total in zip(names, left):
        axis.annotate(f" {total:,.1f} ms", (total, name), va="center", fontsize=9)
    axis.invert_yaxis()  # methods from top to bottom as they ran
    axis.set_xlim(0, 1.12 * max(left) if max(left) > 0 else 1)
    axis.set(title="Time per step by phase (mean over steps, slowest rank of each phase)", xlabel="time (ms)")
    axis.legend(ncol=len(PHASES), loc="upper center", bbox_to_anchor=(0.5, -0.22), frameon=False, fontsize=8,
                handlelength=1, columnspacing=1)
    axis.grid(axis="x", alpha=0.3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, help="default: FOLDER/training.png")
    parser.add_argument("--warmup", type=int, default=2, help="first steps left out of the phase times (default 2)")
    arguments = parser.parse_args()

    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    try:
        methods = read_steps(arguments.folder / "steps.csv")
        with open(arguments.folder / "run.json", encoding="utf-8") as file:
            run = json.load(file)
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")

    look = {name: {"color": COLORS[i % len(COLORS)], "linestyle": STYLES[i % len(STYLES)]}
            for i, name in enumerate(methods)}
    figure = plt.figure(figsize=(11, 6.6 + 0.25 * len(methods)), constrained_layout=True)
    grid = figure.add_gridspec(2, 2, height_ratios=[3, 0.8 + 0.3 * len(methods)])
    plot_loss(figure.add_subplot(grid[0, 0]), methods, look)
    plot_difference(figure.add_subplot(grid[0, 1]), methods, look)
    plot_phases(figure.add_subplot(grid[1, :]), methods, arguments.warmup)
    model = run["deck"]["model"]["name"]
    verdict = "" if run["valid"] else ", RESULT INVALID"
    figure.suptitle(f"{model}, {run['parameters'] / 1e6:.3g} M parameters, {run['ranks']} ranks, "
                    f"{run['deck']['data']['source']} data{verdict}")
    output = arguments.output or arguments.folder / "training.png"
    figure.savefig(output, dpi=130)
    print(output)


if __name__ == "__main__":
    main()
