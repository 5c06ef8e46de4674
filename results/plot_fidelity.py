#!/usr/bin/env python3
"""Figures of a fidelity study or a layer profile.

    plot_fidelity.py FOLDER [--trace TRACE.h5] [--tensor NAME] [--step N]

FOLDER holds what `minigift fidelity --out` (fidelity.csv, age.csv, sums.csv) or `minigift profile --out`
(profile.csv) wrote. With the trace, also the figures that need gradients and moments. Each figure is drawn if its data
are there; the last line lists the files.

  errors.png      RelL2 by transform and format, the rounding floors as lines
  sums.png        error of the summed gradient against the number of ranks, by scheme
  age.png         RelL2 against the age of the factor
  ranking.png     layers by vulnerability (the paper's Figure 3), and by expected gain
  projection.png  gradients in two dimensions before and after whitening, with covariance ellipses (Figure 1)
  spectra.png     eigenvalues of A by role

Needs matplotlib, and h5py for the trace.
"""
import argparse
import csv
import os
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Ellipse

ROLE_COLOURS = {
    "attention_q": "#1b6ca8", "attention_k": "#5aa9e6", "attention_v": "#0b3c5d", "attention_o": "#7fc8f8",
    "mlp_gate": "#e07a5f", "mlp_up": "#f2a65a", "mlp_down": "#8c2f39"}
FLOORS = {"e5m2": 0.0527, "e4m3": 0.0265}


def read(folder, name):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def pooled(rows):
    """RelL2 of all rows together: errors and energies add."""
    difference = sum(float(r["sum_difference_squared"]) for r in rows)
    reference = sum(float(r["sum_reference_squared"]) for r in rows)
    return (difference / reference) ** 0.5 if reference > 0 else float("nan")


def groups(rows, *keys):
    """Rows by the values of these columns, in order of first appearance."""
    found = {}
    for row in rows:
        found.setdefault(tuple(row[k] for k in keys), []).append(row)
    return found


def save(figure, folder, name, written):
    path = os.path.join(folder, name)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    written.append(path)


def legend_below(figure, handles, labels, columns):
    """A legend under all panels, in room that the layout leaves free."""
    lines = -(-len(labels) // columns)
    share = (0.22 * lines + 0.15) / figure.get_size_inches()[1]
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))
    figure.legend(handles, labels, loc="lower center", ncol=columns, fontsize=8)


def plot_errors(rows, folder, written):
    cells = {key: pooled(r) for key, r in groups(rows, "transform", "format").items()}
    transforms = list(dict.fromkeys(t for t, _ in cells))
    formats = list(dict.fromkeys(f for _, f in cells))
    figure, axes = plt.subplots(figsize=(9, 0.32 * len(transforms) + 1.6), layout="constrained")
    y = np.arange(len(transforms))[::-1]
    for i, fmt in enumerate(formats):
        colour = plt.cm.tab10(i % 10)
        shift = 0.5 * (0.5 - (i + 0.5) / len(formats))  # equal errors stay visible beside each other
        axes.plot([cells.get((t, fmt), float("nan")) for t in transforms], y + shift, "o", ms=4, color=colour, label=fmt)
        if fmt in FLOORS:
            axes.axvline(FLOORS[fmt], color=colour, lw=0.8, ls=":")
    axes.set_xscale("log")
    axes.set_yticks(y, transforms, fontsize=8)
    axes.set_ylim(-1, len(transforms))
    axes.set_xlabel("relative L2 error of the round trip (dotted: rounding floor without a transform)")
    axes.grid(alpha=0.3, which="both", axis="x")
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), title="format")
    save(figure, folder, "errors.png", written)


def plot_sums(rows, folder, written):
    transforms = list(dict.fromkeys(r["transform"] for r in rows))
    formats = [f for f in ("e5m2", "e4m3") if any(r["format"] == f for r in rows)]
    if not formats:
        return
    figure, panels = plt.subplots(len(formats), len(transforms), figsize=(4.2 * len(transforms), 3.2 * len(formats)),
                                  sharex=True, sharey=True, squeeze=False, layout="constrained")
    styles = {}
    for row, fmt in enumerate(formats):
        for column, transform in enumerate(transforms):
            axes = panels[row][column]
            mine = [r for r in rows if r["format"] == fmt and r["transform"] == transform]
            for (scheme,), part in groups(mine, "scheme").items():
                style = styles.setdefault(scheme, plt.cm.tab10(len(styles) % 10))
                points = sorted((int(n), pooled(r), drawn == "true")
                                for (n, drawn), r in groups(part, "ranks", "resampled").items())
                axes.plot([p[0] for p in points], [p[1] for p in points], "-", color=style, lw=1.2, label=scheme)
                for n, error, drawn in points:
                    axes.plot(n, error, "o", ms=4, color=style, mfc="white" if drawn else style)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.grid(alpha=0.3, which="both")
            axes.set_title(f"{transform}, {fmt}", fontsize=9)
    for axes in panels[-1]:
        axes.set_xlabel("ranks N (hollow: drawn, not recorded)")
    for line in panels:
        line[0].set_ylabel("relative L2 error")
    handles, labels = panels[0][0].get_legend_handles_labels()
    legend_below(figure, handles, labels, 4)
    save(figure, folder, "sums.png", written)


def plot_age(rows, folder, written):
    mine = [r for r in rows if r["tokens"] == "all"]
    steps = sorted({int(r["step"]) for r in mine})
    if len(steps) < 2:
        return
    transforms = groups(mine, "transform")
    figure, panels = plt.subplots(1, len(transforms), figsize=(3.4 * len(transforms), 3.6), sharey=True, squeeze=False,
                                  layout="constrained")
    for axes, ((transform,), part) in zip(panels[0], transforms.items()):
        for i, step in enumerate(steps):
            points = sorted((step - int(factor), pooled(r))
                            for (gradient, factor), r in groups(part, "step", "factor_step").items()
                            if int(gradient) == step)
            axes.plot([p[0] for p in points], [p[1] for p in points], "o-", ms=4,
                      color=plt.cm.viridis(i / max(1, len(steps) - 1)), label=f"gradient of step {step}")
        axes.axhline(FLOORS.get(mine[0]["format"], float("nan")), color="black", lw=0.8, ls=":", label="no transform")
        axes.set_title(transform, fontsize=9)
        axes.set_xlabel("age of the factor (steps)")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    panels[0][0].set_ylabel(f"relative L2 error, {mine[0]['format']}")
    legend_below(figure, *panels[0][0].get_legend_handles_labels(), len(steps) + 1)
    save(figure, folder, "age.png", written)


def plot_ranking(rows, folder, written):
    figure, panels = plt.subplots(1, 2, figsize=(12, 0.22 * len(rows) + 1.8), layout="constrained")
    for axes, score, title in ((panels[0], "boundary_score", "boundary score (upper + lower share)"),
                               (panels[1], "gain_score", "gain score, (1 − γ²)‖W‖² / size")):
        order = sorted(rows, key=lambda r: int(r[score.replace("score", "place")]))
        y = np.arange(len(order))[::-1]
        left = np.zeros(len(order))
        colours = [ROLE_COLOURS.get(r["role"], "grey") for r in order]
        axes.barh(y, [float(r[score]) for r in order], left=left, color=colours)
        axes.set_yticks(y, [r["tensor"].replace("model.layers.", "").replace(".weight", "") for r in order], fontsize=7)
        axes.set_xlabel(title)
        axes.grid(alpha=0.3, axis="x")
        axes.margins(y=0.01)
    used = dict.fromkeys(r["role"] for r in rows)
    legend_below(figure, [plt.Rectangle((0, 0), 1, 1, color=ROLE_COLOURS.get(r, "grey")) for r in used], list(used),
                 len(used))
    save(figure, folder, "ranking.png", written)


def ellipse(axes, points, colour):
    """The covariance ellipse at two standard deviations."""
    values, vectors = np.linalg.eigh(np.cov(points.T))
    angle = np.degrees(np.arctan2(vectors[1, -1], vectors[0, -1]))
    width, height = 4 * np.sqrt(np.maximum(values[::-1], 0))
    axes.add_patch(Ellipse(points.mean(axis=0), width, height, angle=angle, fill=False, color=colour, lw=1.6))
    return np.sqrt(max(values[-1], 0) / values[0]) if values[0] > 0 else float("inf")


class Trace:
    """What the figures need of a trace file (layout: miniapp/trace/README.md)."""

    def __init__(self, path):
        import h5py
        self.file = h5py.File(path, "r")
        self.tensors = [{name: self.text(row[name]) for name in row.dtype.names} for row in self.file["tensors"][...]]

    @staticmethod
    def text(value):
        return value.decode() if isinstance(value, bytes) else value

    def step(self, number):
        steps = self.file["steps"]
        names = sorted(s for s in steps if number is None or int(s) == number)
        if not names:
            sys.exit(f"plot_fidelity.py: the trace has no step {number}; it has {', '.join(sorted(steps))}")
        return steps[names[-1]]

    @staticmethod
    def moment(step, site):
        """A over all recorded tokens: ranks saw equally many."""
        return step["input_moment"][site][...].astype(np.float64).mean(axis=0)


def whitening(a, rank=32):
    """A^-1/2 of rank `rank`, completed by the smallest kept eigenvalue, as U diag(d) U^T + I."""
    values, vectors = np.linalg.eigh(a)
    values, vectors = values[::-1][:rank], vectors[:, ::-1][:, :rank]
    return vectors, np.sqrt(values[-1] / values) - 1.0


def plot_projection(trace, step, name, folder, written):
    """Rows of local gradients, one point each, on two directions of the inputs: the strongest, and the rank-32nd."""
    rows = [t for t in trace.tensors if t["name"] == name]
    if not rows:
        sys.exit(f"plot_fidelity.py: no tensor {name} in the trace; it has " +
                 ", ".join(t["name"] for t in trace.tensors[:3]) + ", ...")
    w = step["gradient"][name][...].astype(np.float64).reshape(-1, rows[0]["columns"])
    a = trace.moment(step, rows[0]["input_site"])
    rank = min(32, a.shape[0])
    basis, gain = whitening(a, rank)
    plane = basis[:, [0, rank - 1]]
    before = w @ plane
    after = (w + (w @ basis) * gain @ basis.T) @ plane
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
    for axes, points, title in ((panels[0], before, "Euclidean"), (panels[1], after, "whitened, rank 32")):
        scale = np.sqrt((points ** 2).sum(axis=1).mean())
        points = points / scale
        axes.plot(points[:, 0], points[:, 1], ".", ms=1.5, alpha=0.35, color="#1b6ca8", rasterized=True)
        ratio = ellipse(axes, points, "#8c2f39")
        reach = np.quantile(np.abs(points), 0.995) * 1.15
        axes.set_xlim(-reach, reach)
        axes.set_ylim(-reach, reach)
        axes.set_aspect("equal")
        axes.set_title(f"{title}: axes of the ellipse {ratio:.1f} : 1", fontsize=10)
        axes.set_xlabel("along the strongest direction of the inputs")
        axes.set_ylabel(f"along direction {rank}")
        axes.grid(alpha=0.3)
    figure.suptitle(f"{name}, step {int(step.name.split('/')[-1])}: rows of the local gradients of "
                    f"{step['gradient'][name].shape[0]} rank(s), root mean square 1; ellipse at two standard deviations", fontsize=10)
    save(figure, folder, "projection.png", written)


def plot_spectra(trace, step, folder, written):
    figure, axes = plt.subplots(figsize=(7, 4.6), layout="constrained")
    seen = set()
    for tensor in trace.tensors:
        site = tensor["input_site"]
        if site in seen:
            continue
        seen.add(site)
        values = np.linalg.eigvalsh(trace.moment(step, site))[::-1]
        values = np.maximum(values, values[0] * 1e-12) / values.mean()
        label = tensor["role"] if tensor["role"] not in {line.get_label() for line in axes.lines} else "_"
        axes.plot(np.arange(1, len(values) + 1), values, lw=0.9, alpha=0.8, color=ROLE_COLOURS.get(tensor["role"], "grey"),
                  label=label)
    axes.axvline(32, color="black", lw=0.8, ls=":")
    axes.text(33, axes.get_ylim()[1] * 0.5, "rank 32", fontsize=8, va="top")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("index")
    axes.set_ylabel("eigenvalue of A / mean eigenvalue")
    axes.set_title(f"inputs of the layers, step {int(step.name.split('/')[-1])} (q, k, v share inputs; gate, up as well)",
                   fontsize=10)
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8)
    save(figure, folder, "spectra.png", written)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="results of minigift fidelity or profile; figures are written here")
    parser.add_argument("--trace", help="trace file (HDF5), for projection.png and spectra.png")
    parser.add_argument("--tensor", help="tensor of projection.png (default: the first down projection)")
    parser.add_argument("--step", type=int, help="traced step of projection.png and spectra.png (default: the last)")
    arguments = parser.parse_args()
    folder, written = arguments.folder, []
    if not os.path.isdir(folder):
        sys.exit(f"plot_fidelity.py: {folder} is no folder")
    for name, draw in (("fidelity.csv", plot_errors), ("sums.csv", plot_sums), ("age.csv", plot_age),
                       ("profile.csv", plot_ranking)):
        rows = read(folder, name)
        if rows:
            draw(rows, folder, written)
    if arguments.trace:
        trace = Trace(arguments.trace)
        step = trace.step(arguments.step)
        if "input_moment" in step and "gradient" in step:
            down = [t["name"] for t in trace.tensors if t["role"] == "mlp_down"]
            plot_projection(trace, step, arguments.tensor or (down or [trace.tensors[0]["name"]])[0], folder, written)
        if "input_moment" in step:
            plot_spectra(trace, step, folder, written)
    if not written:
        sys.exit(f"plot_fidelity.py: {folder} has no fidelity.csv, age.csv, sums.csv or profile.csv")
    print("wrote " + ", ".join(written))


if __name__ == "__main__":
    main()
