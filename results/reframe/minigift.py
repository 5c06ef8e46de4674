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

    @run_after("init")
    def make_paths_absolute(self):
        # The tests run in folders of their own; names on the command line are relative to where ReFrame was started.
        self.program = str(pathlib.Path(self.program).resolve())
        if self.baseline:
            self.baseline = str(pathlib.Path(self.baseline).resolve())


@rfm.simple_test
class StepBenchmark(MinigiftTest):
    """minigift step: a valid result, and tokens/s of every method as performance variables."""

    descr = "transformer step with each gradient exchange method"
    deck = variable(str, value=str(ROOT / "inputs" / "studies" / "smoke.toml"))
    overrides = variable(typing.List[str], value=[])  # deck values, "section.key=value"
    band = variable(float, value=0.2)  # of tokens/s about the baseline's; the close look is CompareWithBaseline's
    ranks = parameter([2, 4])
    time_limit = "10m"

    @run_after("init")
    def make_deck_absolute(self):
        self.deck = str(pathlib.Path(self.deck).resolve())

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
        record = json.loads(pathlib.Path(self.stagedir, "run", "run.json").read_text())
        expected = self.expected_rates({measurement["key"] for measurement in record["measurements"]})
        unit = "tokens/s"
        self.perf_variables, reference = {}, {}
        for name, value in record["figures_of_merit"].items():
            figure, _, method = name.partition(" ")
            if figure != "tokens_per_second":
                continue
            self.perf_variables[method] = sn.make_performance_function(sn.defer(value), unit)
            if method in expected:
                reference[method] = (expected[method], -self.band, None, unit)
        if reference:
            self.reference = {"*": reference}

    def expected_rates(self, keys):
        """Median tokens/s by method of those of the baseline's measurements that have one of these keys."""
        if not self.baseline:
            return {}
        path = pathlib.Path(self.baseline)
        samples = {}
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            record = json.loads(file.read_text())
            for measurement in record.get("measurements", []) if isinstance(record, dict) else []:
                rates = measurement["metrics"].get("tokens_per_second")
                if measurement["key"] in keys and rates:
                    samples.setdefault(measurement["comparable"]["method"], []).extend(
                        rate for rate in rates["samples"] if rate is not None)
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
