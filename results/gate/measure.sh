#!/usr/bin/env bash
# How reliable is the gate on this machine? Runs one build against itself many times, then with one phase made 10 % slower
# on purpose, and says what `minigift compare` found.
#
#   results/gate/measure.sh BUILD OUT [REPEATS (20)] [RANKS (2)] [--set KEY=VALUE ...]
#
# BUILD: build folder; OUT: new folder for all records and verdicts. About 8 s per run, 2 x REPEATS + 2 x 3 runs. Leave
# the machine alone meanwhile: what runs beside it is what the gate would find.
set -euo pipefail
build=${1:?build folder} out=${2:?new output folder} repeats=${3:-20} ranks=${4:-2}
shift $(($# < 4 ? $# : 4))
sets=("$@")
root=$(dirname "$(readlink -f "$0")")/../..
program=$(readlink -f "$build/minigift")
mkdir "$out"

run() { # NAME [--set ...]
  local name=$1
  shift
  mpirun -n "$ranks" "$program" step "$root/inputs/studies/smoke.toml" --set 'exchange.methods=["fp32","gift"]' \
    --set step.iterations=15 --set output.figures=false "${sets[@]}" "$@" --out "$out/$name" >"$out/$name.log" 2>&1 ||
    { tail -n 5 "$out/$name.log" >&2; exit 1; }
}
verdict() { # NAME BASELINE CURRENT: exit status, rows that FAIL and WARN
  local status=0
  "$program" compare "$out/$2" "$out/$3" --json "$out/$1.json" >"$out/$1.txt" 2>&1 || status=$?
  printf '%-28s exit %d  %s\n' "$1" "$status" "$(grep '^COMPARE' "$out/$1.txt" || tail -n 1 "$out/$1.txt")"
  grep -E ' (FAIL|WARN)( |$)' "$out/$1.txt" | sort -u | sed 's/^/    /' || true
}

passed=0
for ((i = 1; i <= repeats; ++i)); do
  run "same-$i-a"
  run "same-$i-b"
  verdict "same-$i" "same-$i-a" "same-$i-b" | tee "$out/line"
  if grep -q 'exit 0' "$out/line"; then passed=$((passed + 1)); fi
done
echo "equal builds: $passed of $repeats without FAIL"
for phase in forward backward optimizer; do
  run "$phase-a"
  run "$phase-b" --set "inject.slow_phase=$phase" --set inject.slow_percent=10
  verdict "$phase-10-percent" "$phase-a" "$phase-b"
done
rm -f "$out/line"
