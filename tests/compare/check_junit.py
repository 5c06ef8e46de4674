#!/usr/bin/env python3
"""Whether the JUnit XML of `minigift compare` is XML, and says the same as its JSON.

usage: check_junit.py FILE.xml FILE.json
"""

import json
import sys
import xml.etree.ElementTree

suite = xml.etree.ElementTree.parse(sys.argv[1]).getroot().find("testsuite")
with open(sys.argv[2], encoding="utf-8") as file:
    comparison = json.load(file)
cases = suite.findall("testcase")
rows = comparison["rows"]
counts = comparison["counts"]
assert len(cases) == len(rows) == int(suite.get("tests")) == sum(counts.values()), "a test case per row"
assert len(suite.findall("testcase/failure")) == int(suite.get("failures")) == counts["FAIL"] > 0
assert len(suite.findall("testcase/skipped")) == int(suite.get("skipped")) == counts["UNKNOWN"]
for case, row in zip(cases, rows):
    failure = case.find("failure")
    assert (failure is not None) == (row["verdict"] == "FAIL"), row
    assert row["metric"] in case.get("name"), row
    if failure is not None:
        for value in (row["baseline"], row["current"]):
            assert f"{value:.6g}" in failure.get("message"), row
