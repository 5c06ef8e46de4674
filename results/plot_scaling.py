#!/usr/bin/env python3
"""Draw what `minigift step` and `minigift comm` measured, from one run or from a folder of kept records.

usage: plot_scaling.py FOLDER [--output DIR]

Reads every *.json record in and below FOLDER (run.json, or what --keep wrote). Runs that differ in more than method and
ranks are drawn apart. Writes what the records allow, into DIR (default: FOLDER):

  scaling*.png  step time, improvement over fp32 and parallel efficiency against ranks, by method
  phases*.png   where the time of a step goes, against ranks, by method
  step*.png     one job: phases of each method, and the link speeds below which a method wins
  comm*.png     time and bus bandwidth of the collectives against message size, by format

Needs matplotlib.
"""

import argparse
import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from plot_training import COLORS, PHASES

MARKERS = ["o", "s", "^", "D", "v", "P", "X", "<", ">", "*"]
DASHES = ["-", "--", "-.", ":"]
# What may differ between the points of one curve; a weak scaling's global batch follows the ranks.
ALONG_A_CURVE = {"method", "composition", "ranks", "nodes", "ranks_per_node", "ranks_per_host"}
COMM_CASE = {"collective", "format", "count", "size", "scale_block"}


def fail(text):
    print(f"plot_scaling.py: {text}", file=sys.stderr)
    sys.exit(2)


def read_records(folder):
    """All records with measurements in and below a folder, in the order of their paths."""
    if not folder.is_dir():
        fail(f"{folder} is no folder")
    records = []
    for path in sorted(folder.rglob("*.json")):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            fail(f"{path}: {error}")
        if isinstance(record, dict) and "schema_version" in record and record.get("measurements") \
                and record not in records:  # a kept copy of run.json is no second run
            records.append(record)
    return records


def finite(metric):
    return [value for value in metric["samples"] if value is not None]


class Point:
    """All runs of one case: one method (or collective) on one number of ranks."""

    def __init__(self, comparable):
        self.comparable = comparable
        self.samples = {}  # by metric
        self.summary = {}

    def add(self, measurement):
        for name, metric in measurement["metrics"].items():
            self.samples.setdefault(name, []).extend(finite(metric))
        self.summary = measurement.get("summary", {})

    def median(self, metric):
        return statistics.median(self.samples[metric]) if self.samples.get(metric) else float("nan")

    def mean(self, metric):
        return statistics.fmean(self.samples[metric]) if self.samples.get(metric) else 0.0

    def interval(self, metric):
        """95 % percentile bootstrap of the median."""
        samples = np.array(self.samples[metric])
        drawn = np.random.default_rng(1).choice(samples, (2000, len(samples)))
        return np.quantile(np.median(drawn, axis=1), [0.025, 0.975])


class Study:
    """Points that make up curves together, and what is to be said about them."""

    def __init__(self, setting):
        self.setting = setting
        self.points = {}  # by their comparable values
        self.hosts = {}
        self.valid = True
        self.references = []

    def add(self, measurement, record):
        comparable = measurement["comparable"]
        key = json.dumps(comparable, sort_keys=True)
        self.points.setdefault(key, Point(comparable)).add(measurement)
        for place in record.get("placement", []):
            self.hosts[place["host"]] = True
        self.valid = self.valid and record["valid"]
        for curve in record.get("references", []):
            if curve not in self.references:
                self.references.append(curve)

    def methods(self):
        """Points by method, each sorted by ranks; methods in order of first appearance."""
        found = {}
        for point in self.points.values():
            if point.samples.get("step_seconds"):
                found.setdefault(point.comparable["method"], []).append(point)
        for points in found.values():
            points.sort(key=lambda point: point.comparable["ranks"])
        return found

    def place(self):
        setting = self.setting
        hosts = list(self.hosts)
        where = "" if not hosts else hosts[0] if len(hosts) == 1 else f"{hosts[0]} and {len(hosts) - 1} more hosts"
        threads = setting.get("threads", 1)
        device = setting.get("device", "host")
        parts = [where, "" if device == "host" else device, f"{threads} thread{'s' if threads != 1 else ''} per rank",
                 f"transport {setting.get('transport', 'unknown')}"]
        return ", ".join(part for part in parts if part) + ("" if self.valid else ", RESULT INVALID")


def studies_of(records, command, curve_names):
    """Measurements of a command by everything in `comparable` but what varies along and between curves."""
    found = {}
    for record in records:
        for measurement in record["measurements"]:
            comparable = measurement["comparable"]
            if comparable.get("command") != command or not measurement["metrics"]:
                continue
            setting = {name: value for name, value in comparable.items() if name not in curve_names}
            if setting.get("scaling") == "weak":
                setting["batch_per_rank"] = setting.pop("global_batch") // comparable["ranks"]
            key = json.dumps(setting, sort_keys=True)
            found.setdefault(key, Study(setting)).add(measurement, record)
    return list(found.values())


def looks(names):
    """A colour, a marker and a dash for each name: no two of ten alike, and told apart without colours."""
    return {name: {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)], "markersize": 4.5,
                   "linestyle": DASHES[(i // len(COLORS)) % len(DASHES)], "linewidth": 1.4}
            for i, name in enumerate(names)}


def rank_axis(axis, ranks):
    axis.set_xscale("log", base=2)
    axis.set_xticks(ranks, [str(n) for n in ranks])
    axis.minorticks_off()
    axis.set_xlabel("ranks")
    axis.grid(alpha=0.3)


def step_title(study):
    s = study.setting
    batch = f"{s['batch_per_rank']} sequences per rank" if "batch_per_rank" in s else \
        f"{s.get('global_batch', '?')} sequences"
    batch += f" of {s.get('sequence_length', '?')} tokens, {s.get('scaling', 'strong')} scaling"
    return (f"{s['model']} ({s.get('parameters', 0) / 1e6:.3g} M), {s.get('workload', 'full')} step, compute "
            f"{s.get('compute', 'real')} {s.get('precision', '')}, overlap {'on' if s.get('overlap') else 'off'}\n"
            f"{batch}; {study.place()}")


def legend_below(figure, handles, labels, columns):
    """A legend under all panels, in room that the layout leaves free."""
    lines = -(-len(labels) // columns)
    share = (0.22 * lines + 0.15) / figure.get_size_inches()[1]
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))
    figure.legend(handles, labels, loc="lower center", ncol=columns, fontsize=8, frameon=False)


def draw_scaling(study):
    """Step time, improvement over fp32, efficiency; None with a single number of ranks."""
    methods = study.methods()
    ranks = sorted({p.comparable["ranks"] for points in methods.values() for p in points})
    if len(ranks) < 2:
        return None
    look = looks(methods)
    weak = study.setting.get("scaling") == "weak"
    figure, (times, gains, efficiency) = plt.subplots(1, 3, figsize=(14, 4.6), layout="constrained")
    for name, points in methods.items():
        x = [p.comparable["ranks"] for p in points]
        y = np.array([1e3 * p.median("step_seconds") for p in points])
        reach = 1e3 * np.array([p.interval("step_seconds") for p in points]).T
        times.errorbar(x, y, yerr=np.maximum(0, [y - reach[0], reach[1] - y]), capsize=3, label=name, **look[name])
        share = [y[0] / value * (1 if weak else x[0] / n) for n, value in zip(x, y)]
        efficiency.plot(x, 100 * np.array(share), **look[name])
    base_name = "fp32" if "fp32" in methods else next(iter(methods))
    base = {p.comparable["ranks"]: p.median("step_seconds") for p in methods[base_name]}
    first = min(base)
    ideal = [1e3 * base[first] * (1 if weak else first / n) for n in ranks]
    times.plot(ranks, ideal, color="0.55", linewidth=1, linestyle=(0, (6, 3)), label=f"ideal, from {base_name}", zorder=1)
    for name, points in methods.items():
        if name == base_name:
            continue
        shared = [(p.comparable["ranks"], 100 * (1 - p.median("step_seconds") / base[p.comparable["ranks"]]))
                  for p in points if p.comparable["ranks"] in base]
        gains.plot([x for x, _ in shared], [y for _, y in shared], **look[name])
    gains.axhline(0, color=look[base_name]["color"], linewidth=1)
    efficiency.axhline(100, color="0.55", linewidth=1, linestyle=(0, (6, 3)))
    for axis in (times, gains, efficiency):
        rank_axis(axis, ranks)
    times.set_ylim(bottom=0 if weak else None)
    if not weak:
        times.set_yscale("log")
        times.yaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
        times.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        low, high = times.get_ylim()
        times.set_yticks([m * 10.0 ** e for e in range(-3, 8) for m in (1, 2, 5) if low <= m * 10.0 ** e <= high])
    efficiency.set_ylim(bottom=0)
    times.set(title="Step time, median, 95 % interval", ylabel="time (ms)")
    gains.set(title=f"Step time saved against {base_name}", ylabel=f"share of the step of {base_name} (%)")
    efficiency.set(title=f"Parallel efficiency against {ranks[0]} rank{'s' if ranks[0] > 1 else ''}",
                   ylabel="efficiency (%)")
    figure.suptitle(step_title(study), fontsize=11)
    legend_below(figure, *times.get_legend_handles_labels(), 6)
    return figure


def stack(axis, points, horizontal=False):
    """Mean times of the phases, one bar per point; returns the totals."""
    places = np.arange(len(points))
    start = np.zeros(len(points))
    for phase, color in PHASES.items():
        length = np.array([1e3 * p.mean(f"{phase}_seconds") for p in points])
        bars = {"left" if horizontal else "bottom": start, "color": color, "label": phase, "edgecolor": "white",
                "linewidth": 0.5}
        if horizontal:
            axis.barh(places, length, **bars)
        else:
            axis.bar(places, length, **bars)
        start = start + length
    return start


def draw_phases(study):
    methods = study.methods()
    if max(len(points) for points in methods.values()) < 2:
        return None
    columns = min(5, len(methods))
    rows = -(-len(methods) // columns)
    figure, panels = plt.subplots(rows, columns, figsize=(2.6 * columns + 0.8, 2.9 * rows + 1.1), sharey=True,
                                  squeeze=False, layout="constrained")
    for axis in panels.flat[len(methods):]:
        axis.set_visible(False)
    for axis, (name, points) in zip(panels.flat, methods.items()):
        stack(axis, points)
        axis.set_xticks(range(len(points)), [str(p.comparable["ranks"]) for p in points])
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("ranks")
        axis.grid(axis="y", alpha=0.3)
    for line in panels:
        line[0].set_ylabel("time per step (ms)")
    figure.suptitle("Phases of a step: mean over iterations, slowest rank of each\n" + step_title(study), fontsize=10)
    legend_below(figure, *panels[0][0].get_legend_handles_labels(), len(PHASES) if columns > 3 else 5)
    return figure


def draw_step(study):
    """One job: phases per method, and break-even link speeds. The largest number of ranks of the study."""
    methods = study.methods()
    ranks = max(p.comparable["ranks"] for points in methods.values() for p in points)
    points = [p for group in methods.values() for p in group if p.comparable["ranks"] == ranks]
    names = [p.comparable["method"] for p in points]
    figure, (bars, speeds) = plt.subplots(1, 2, figsize=(13, 0.34 * len(points) + 2.4), layout="constrained",
                                          width_ratios=[3, 2], sharey=True)
    totals = stack(bars, points, horizontal=True)
    for place, (point, total) in enumerate(zip(points, totals)):
        step = 1e3 * point.median("step_seconds")
        bars.annotate(f" {step:,.1f} ms", (total, place), va="center", fontsize=8)
    bars.set_yticks(range(len(names)), names)
    bars.invert_yaxis()
    bars.set_xlim(0, 1.16 * max(max(totals), 1e-9))
    bars.set(title="Mean time of the phases; median step beside it", xlabel="time (ms)")
    bars.grid(axis="x", alpha=0.3)
    draw_break_even(speeds, points)
    figure.suptitle(f"{ranks} rank{'s' if ranks > 1 else ''}: " + step_title(study), fontsize=10)
    legend_below(figure, *bars.get_legend_handles_labels(), len(PHASES))
    return figure


def draw_break_even(axis, points):
    """Link speeds below which a method's exchange beats fp32's (bf16's); words where there is no such speed."""
    drawn, words = [], []
    for place, point in enumerate(points):
        for shift, base, color in ((-0.18, "fp32", COLORS[1]), (0.18, "bf16", COLORS[2])):
            value = point.summary.get(f"break_even_{base}")
            if point.comparable["method"] == base or value is None:
                continue
            if value == "always" or value == 0:
                words.append((place + shift, f"{value if value else 'never'} ({base})", color))
            else:
                drawn.append((place + shift, 1e-9 * value, base, color))
    for base, color in (("fp32", COLORS[1]), ("bf16", COLORS[2])):
        mine = [(place, value) for place, value, of, _ in drawn if of == base]
        axis.barh([p for p, _ in mine], [v for _, v in mine], height=0.32, color=color, label=f"beats {base}")
    axis.set_xscale("log")
    values = [value for _, value, _, _ in drawn] or [1.0]
    axis.set_xlim(0.3 * min(values), 6 * max(values))
    for place, value, _, _ in drawn:
        axis.annotate(f" {value:.3g}", (value, place), va="center", fontsize=7)
    for place, word, color in words:
        axis.annotate(word, (0.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=7, color=color)
    axis.set(title="Wins below this link speed", xlabel="speed of one rank's link (GB/s)")
    axis.grid(axis="x", alpha=0.3)
    if drawn:
        axis.legend(fontsize=8, loc="lower right")


def draw_comm(study):
    points = [p for p in study.points.values() if p.samples.get("seconds")]
    if not points:
        return None
    formats = list(dict.fromkeys(p.comparable["format"] for p in points))
    collectives = list(dict.fromkeys(p.comparable["collective"] for p in points))
    look = looks(collectives)
    figure, panels = plt.subplots(2, len(formats), figsize=(4.4 * len(formats) + 1, 7.6), sharex=True, sharey="row",
                                  squeeze=False, layout="constrained")
    handles = {}
    for column, fmt in enumerate(formats):
        times, speeds = panels[0][column], panels[1][column]
        for name in collectives:
            mine = sorted((p for p in points if p.comparable["format"] == fmt and p.comparable["collective"] == name),
                          key=lambda p: p.comparable["size"])
            if not mine:
                continue
            size = [p.comparable["size"] for p in mine]
            handles[name], = times.plot(size, [1e6 * p.median("seconds") for p in mine], **look[name])
            speeds.plot(size, [1e-9 * p.median("bus_bandwidth") for p in mine], **look[name])
        for i, curve in enumerate(study.references):
            style = {"color": "0.45", "linewidth": 1.2, "linestyle": DASHES[(i + 1) % len(DASHES)]}
            label = f"{curve['tool']} {curve['operation']} {curve.get('type', '')}".rstrip()
            size = [point["size"] for point in curve["points"]]
            handles[label], = times.plot(size, [1e6 * point["seconds"] for point in curve["points"]], **style)
            speeds.plot(size, [1e-9 * point["bus_bandwidth"] for point in curve["points"]], **style)
        times.set_title(fmt, fontsize=10)
        times.set_xscale("log", base=2)
        times.set_yscale("log")
        speeds.set_ylim(bottom=0)
        speeds.set_xlabel("size of the codes (B)")
        speeds.tick_params(axis="x", labelsize=8)
        speeds.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda value, _: byte_text(value)))
        for axis in (times, speeds):
            axis.grid(alpha=0.3)
    panels[0][0].set_ylabel("time, median (µs)")
    panels[1][0].set_ylabel("bus bandwidth, median (GB/s)")
    s = study.setting
    figure.suptitle(f"Collectives on {s['ranks']} ranks, {s.get('nodes', 1)} node{'s' if s.get('nodes', 1) > 1 else ''}, "
                    f"buffers {'hot' if s.get('hot') else 'cold'}\n{study.place()}", fontsize=11)
    legend_below(figure, handles.values(), handles.keys(), 4 if len(formats) < 3 else 6)
    return figure


def byte_text(value):
    for unit, size in (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path, help="folder for the pictures (default: FOLDER)")
    arguments = parser.parse_args()
    records = read_records(arguments.folder)
    steps = [study for study in studies_of(records, "step", ALONG_A_CURVE) if study.methods()]
    comms = studies_of(records, "comm", COMM_CASE)
    output = arguments.output or arguments.folder
    written = []
    for studies, kinds in ((steps, (("scaling", draw_scaling), ("phases", draw_phases), ("step", draw_step))),
                           (comms, (("comm", draw_comm),))):
        for number, study in enumerate(studies, 1):
            for name, draw in kinds:
                figure = draw(study)
                if figure is None:
                    continue
                path = output / f"{name}{'' if len(studies) == 1 else f'-{number}'}.png"
                try:
                    output.mkdir(parents=True, exist_ok=True)
                    figure.savefig(path, dpi=130)
                except OSError as error:
                    fail(f"{path}: {error.strerror}")
                plt.close(figure)
                written.append(str(path))
    if not written:
        fail(f"{arguments.folder}: no records of minigift step or comm with measurements")
    print("wrote " + ", ".join(written))


if __name__ == "__main__":
    main()
