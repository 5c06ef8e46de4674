#!/usr/bin/env python3
"""Made-up records for tests of `minigift compare` and of results/plot_scaling.py: no machine measured them.

usage: make_records.py FOLDER [--slow METHOD:PHASE:FACTOR] [--seed N] [--batch B] [--invalid] [--comm]

Writes FOLDER/step-rN.json for N = 1, 2, 4, 8 and, with --comm, FOLDER/comm-r4.json. Times follow simple models with 2 %
of noise; numbers come from the seed.
"""

import argparse
import json
import pathlib
import random

METHODS = {  # bytes per element, seconds of local work per step
    "fp32": (4, 0.000), "bf16": (2, 0.001), "euclidean": (1, 0.003), "euclidean-block512": (1, 0.004),
    "gift": (1, 0.009), "gift-paper": (1, 0.012), "gift-literal": (1, 0.013), "gift-a2a": (1, 0.010),
    "int8-block128": (1, 0.005), "gift-int8": (1, 0.011)}
PHASES = ["forward", "backward", "refresh", "coordinates", "encode", "wire", "decode", "optimizer", "other"]


def key(comparable):
    """The 64-bit FNV-1a hash of miniapp/report/measurement.cpp."""
    value = 0xCBF29CE484222325
    for line in sorted(f"{name}={json.dumps(item)}\n" for name, item in comparable.items()):
        for byte in line.encode():
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"0x{value:016x}"


def record(command, ranks, measurements, valid):
    return {"schema_version": 2, "command": command, "valid": valid, "ranks": ranks,
            "environment": {"git": {"commit": "0" * 40, "dirty": False}, "mpi": "made up"},
            "placement": [{"rank": r, "host": "made-up-host", "process": r, "cpus": [r], "device": None}
                          for r in range(ranks)],
            "measurements": measurements}


def step_measurement(noise, method, ranks, arguments):
    width, local = METHODS[method]
    gradient = 16e6 * width
    times = {"forward": 0.200 / ranks, "backward": 0.400 / ranks, "refresh": 0.08, "coordinates": 0.3 * local,
             "encode": 0.4 * local, "wire": 2 * (ranks - 1) / ranks * gradient / 1e9, "decode": 0.3 * local,
             "optimizer": 0.020, "other": 0.002}
    if arguments.slow:
        slow_method, phase, factor = arguments.slow.split(":")
        if slow_method == method:
            times[phase] *= float(factor)
    samples = {phase: [] for phase in PHASES}
    for iteration in range(20):
        for phase in PHASES:
            runs = phase != "refresh" or ("gift" in method and iteration % 3 == 0)
            samples[phase].append(times[phase] * noise.lognormvariate(0, 0.02) if runs else 0.0)
    step = [sum(samples[phase][i] for phase in PHASES) for i in range(20)]
    comparable = {"command": "step", "model": "llama-made-up", "parameters": 16000000, "workload": "full",
                  "compute": "real", "precision": "fp32", "global_batch": arguments.batch, "micro_batch": 4,
                  "sequence_length": 128, "scaling": "strong", "gradients": "model", "method": method,
                  "bucket_megabytes": 25, "overlap": False, "transport": "host", "ranks": ranks, "nodes": 1,
                  "ranks_per_node": ranks, "threads": 1, "device": "host"}
    metrics = {"step_seconds": {"unit": "s", "better": "lower", "samples": step}}
    for phase in PHASES:
        metrics[f"{phase}_seconds"] = {"unit": "s", "better": "lower", "samples": samples[phase]}
    metrics["tokens_per_second"] = {"unit": "tokens/s", "better": "higher",
                                    "samples": [arguments.batch * 128 / t for t in step]}
    added = local if width < 4 else 0
    summary = {"break_even_fp32": None if method == "fp32" else (4 - width) * 16e6 / added,
               "break_even_bf16": None if method == "bf16" else 0 if width > 2 else (2 - width) * 16e6 / (added - 1e-3)}
    return {"key": key(comparable), "comparable": comparable, "metrics": metrics, "summary": summary}


def comm_measurement(noise, collective, width, name, count):
    speed = {"native": 1.0, "a2a": 1.5, "allreduce": 1.2, "reduce-scatter": 1.1, "mpi-all-gather": 2.0}[collective]
    size = count * width
    seconds = [(20e-6 + size / (speed * 1e9)) * noise.lognormvariate(0, 0.02) for _ in range(20)]
    comparable = {"command": "comm", "collective": collective, "format": name, "count": count, "size": size,
                  "scale_block": 0, "hot": False, "transport": "host", "ranks": 4, "nodes": 1, "ranks_per_node": 4,
                  "threads": 1, "device": "host"}
    metrics = {"seconds": {"unit": "s", "better": "lower", "samples": seconds}}
    for bandwidth, factor in (("algorithm_bandwidth", 1.0), ("bus_bandwidth", 1.5)):
        metrics[bandwidth] = {"unit": "B/s", "better": "higher", "samples": [factor * size / t for t in seconds]}
    return {"key": key(comparable), "comparable": comparable, "metrics": metrics, "summary": {}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--slow")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--invalid", action="store_true")
    parser.add_argument("--comm", action="store_true")
    arguments = parser.parse_args()
    noise = random.Random(arguments.seed)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for ranks in (1, 2, 4, 8):
        measurements = [step_measurement(noise, method, ranks, arguments) for method in METHODS]
        (arguments.folder / f"step-r{ranks}.json").write_text(
            json.dumps(record("step", ranks, measurements, not arguments.invalid)))
    if arguments.comm:
        measurements = [comm_measurement(noise, collective, width, name, 4**exponent)
                        for exponent in range(5, 13) for name, width in (("fp32", 4), ("bf16", 2), ("e4m3", 1))
                        for collective in ("native", "a2a", "allreduce", "reduce-scatter", "mpi-all-gather")
                        if not (collective == "mpi-all-gather" and name == "bf16")]
        comm = record("comm", 4, measurements, True)
        comm["references"] = [{"file": "x.json", "tool": "nccl-tests", "operation": "all-reduce", "type": "float",
                               "points": [{"size": 4**e, "seconds": 9e-6 + 4**e / 3e9,
                                           "bus_bandwidth": 1.5 * 4**e / (9e-6 + 4**e / 3e9)} for e in range(6, 14)]}]
        (arguments.folder / "comm-r4.json").write_text(json.dumps(comm))


if __name__ == "__main__":
    main()
