"""ReFrame tests of miniGIFT: the step benchmark, and the same against a baseline.

README.md beside this file has the commands. What can be set with -S NAME=VALUE: see the variables of each class.
"""

import json
import pathlib
import statistics

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typing
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_before, run_after, sanity_function, variable

ROOT = pathlib.Path(__file__).resolve().parents[2]


class MinigiftTest(rfm.RunOnlyRegressionTest):
    """What both tests have in common."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    # The program, and a record or a folder of kept records to compare with; empty: there is none yet.
    program = variable(str, value=str(ROOT / "build" / "minigift"))
    baseline = variable(str, value="")


@rfm.simple_test
class StepBenchmark(MinigiftTest):
    """minigift step: a valid result, and tokens/s of every method as performance variables."""

    descr = "transformer step with each gradient exchange method"
    deck = variable(str, value=str(ROOT / "inputs" / "studies" / "smoke.toml"))
    overrides = variable(typing.List[str], value=[])  # deck values, "section.key=value"
    band = variable(float, value=0.2)  # of tokens/s about the baseline's; the close look is CompareWithBaseline's
    ranks = parameter([2, 4])
    time_limit = "10m"

    @run_before("run")
    def set_command(self):
        self.num_tasks = self.ranks
        self.executable = self.program
        self.executable_opts = ["step", self.deck, "--out", "run"]
        for override in self.overrides:
            self.executable_opts += ["--set", f"'{override}'"]

    @sanity_function
    def result_is_valid(self):
        return sn.all([sn.assert_eq(self.job.exitcode, 0), sn.assert_found(r"^RESULT VALID$", self.stdout)])

    @run_before("performance")
    def set_figures_of_merit(self):
        found = sn.evaluate(sn.extractall(r"^FOM tokens_per_second (\S+) (\S+)$", self.stdout, (1, 2), (str, float)))
        expected = self.expected_rates()
        unit = "tokens/s"
        self.perf_variables = {
            method: sn.make_performance_function(sn.defer(value), unit) for method, value in found}
        self.reference = {"*": {
            method: (expected.get(method, value), -self.band if method in expected else None, None, unit)
            for method, value in found}}

    def expected_rates(self):
        """Median tokens/s by method of the baseline's records of this deck's model on as many ranks."""
        if not self.baseline:
            return {}
        current = json.loads(pathlib.Path(self.stagedir, "run", "run.json").read_text())
        keys = {measurement["key"] for measurement in current["measurements"]}
        path = pathlib.Path(self.baseline)
        samples = {}
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            record = json.loads(file.read_text())
            for measurement in record.get("measurements", []) if isinstance(record, dict) else []:
                if measurement["key"] in keys:
                    rates = measurement["metrics"].get("tokens_per_second", {"samples": []})["samples"]
                    samples.setdefault(measurement["comparable"]["method"], []).extend(r for r in rates if r is not None)
        return {method: statistics.median(values) for method, values in samples.items() if values}


@rfm.simple_test
class CompareWithBaseline(MinigiftTest):
    """minigift compare BASELINE OUT, one test for each number of ranks of the benchmark."""

    descr = "step benchmark against a baseline, by minigift compare"
    ranks = parameter(StepBenchmark.ranks.values)
    options = variable(typing.List[str], value=[])  # of minigift compare, e.g. --band

    @run_after("init")
    def need_a_baseline(self):
        self.skip_if(not self.baseline, "no baseline: set it with -S baseline=RECORD_OR_FOLDER")
        variant, = StepBenchmark.get_variant_nums(ranks=lambda ranks: ranks == self.ranks)
        self.benchmark = StepBenchmark.variant_name(variant)
        self.depends_on(self.benchmark)

    @run_before("run")
    def set_command(self):
        self.num_tasks = 1
        self.job.launcher = getlauncher("local")()
        self.executable = self.program
        self.executable_opts = ["compare", self.baseline, str(pathlib.Path(self.getdep(self.benchmark).stagedir, "run")),
                                "--json", "compare.json", "--junit", "compare.xml", *self.options]
        self.keep_files = ["compare.json", "compare.xml"]

    @sanity_function
    def nothing_failed(self):
        return sn.all([
            sn.assert_ne(self.job.exitcode, 3, msg="minigift compare found a regression, see its output"),
            sn.assert_eq(self.job.exitcode, 0, msg="minigift compare could not compare (exit status {0})"),
            sn.assert_found(r"^COMPARE \d+ PASS, \d+ WARN, 0 FAIL", self.stdout)])
