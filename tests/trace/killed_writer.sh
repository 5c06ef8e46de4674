#!/usr/bin/env bash
# A writer that is killed in the middle leaves nothing under the trace's name, and nothing that `trace verify` accepts.
#   killed_writer.sh MINIGIFT TRACE_PROGRAM FOLDER MODE DELAYS RANKS MPIEXEC...
# MODE endless: killed while the ranks write arrays; sealing: while rank 0 writes everything else, which it may have
# finished. DELAYS [s] after the program said that it begins, "0 0.2".
set -euo pipefail
minigift=$1
program=$2
folder=$3
mode=$4
delays=$5
ranks=$6
shift 6
fail() {
  echo "killed_writer: $*" >&2
  exit 1
}
rm -rf "$folder"
mkdir -p "$folder"
for delay in $delays; do
  trace=$folder/after-$delay.h5
  # Each rank says its process id through the shell that becomes it.
  "$@" bash -c 'echo $$ >"$0.pid.$OMPI_COMM_WORLD_RANK$PMI_RANK"; exec "$1" "$2" "$0"' "$trace" "$program" \
    "$mode" \
    >"$trace.log" 2>&1 &
  launcher=$!
  for ((wait = 0; wait < 4000; ++wait)); do
    if grep -q writing "$trace.log" 2>/dev/null && (($(ls "$trace".pid.* 2>/dev/null | wc -l) == ranks)); then break; fi
    kill -0 "$launcher" 2>/dev/null || break
    sleep 0.01
  done
  grep -q writing "$trace.log" || fail "the writer does not start: $(cat "$trace.log")"
  sleep "$delay"
  # The last rank first; the launcher ends the others when it sees that.
  kill -9 "$(cat "$(ls "$trace".pid.* | tail -n 1)")" 2>/dev/null || [[ $mode == sealing ]]
  if wait "$launcher" && [[ $mode == endless ]]; then fail "the writer ended well"; fi
  if [[ $mode == sealing && -e $trace ]]; then
    [[ ! -e $trace.partial ]] || fail "both $trace and $trace.partial exist"
    "$minigift" trace verify "$trace" || fail "$trace has its name, but is not whole"
    continue
  fi
  [[ ! -e $trace ]] || fail "$trace exists"
  [[ -e $trace.partial ]] || fail "$trace.partial is gone: nothing was tested"
  if "$minigift" trace verify "$trace.partial" >"$trace.verify" 2>&1; then fail "verify accepts $trace.partial"; fi
  grep -q "VERIFY open : FAIL.*not finished" "$trace.verify" || fail "unclear: $(cat "$trace.verify")"
  if [[ $mode == sealing ]]; then continue; fi
  # Nor does a name make it whole.
  cp "$trace.partial" "$folder/renamed.h5"
  if "$minigift" trace verify "$folder/renamed.h5" >"$trace.verify" 2>&1; then fail "verify accepts the renamed file"; fi
  grep -q "VERIFY open : FAIL" "$trace.verify" || fail "unclear: $(cat "$trace.verify")"
  echo "after $delay s, $(stat -c %s "$trace.partial") bytes: $(grep "VERIFY open" "$trace.verify")"
done
rm -rf "$folder"
