#!/usr/bin/env bash
# `minigift trace verify` on a trace that was damaged in one way: exit status and words.
#   damaged_file.sh MINIGIFT TRACE_PROGRAM FOLDER DAMAGE STATUS REGEX
# FOLDER/whole holds plain.h5 and deflated.h5.
set -euo pipefail
minigift=$1 program=$2 whole=$3/whole folder=$3/$4 damage=$4 status=$5 expected=$6
trace=$folder/$damage.h5
rm -rf "$folder"
mkdir -p "$folder"
case $damage in
  deflated*) cp "$whole/deflated.h5" "$trace" ;;
  *) cp "$whole/plain.h5" "$trace" ;;
esac
size=$(stat -c %s "$trace")
case $damage in
  none | deflated) ;;
  missing) rm "$trace" ;;
  empty) : >"$trace" ;;
  folder) rm "$trace" && mkdir "$trace" ;;
  text) echo "step,loss" >"$trace" ;;
  half) truncate -s $((size / 2)) "$trace" ;;
  last-byte) truncate -s $((size - 1)) "$trace" ;;
  first-kilobyte) truncate -s 1024 "$trace" ;;
  # What the writer wrote, but for 64 bytes in the middle: within an array.
  zeroed-bytes | deflated-bytes) dd if=/dev/zero of="$trace" bs=1 seek=$((size / 2)) count=64 conv=notrunc status=none ;;
  *) "$program" "$damage" "$trace" ;;
esac
found=0
output=$("$minigift" trace verify "$trace" 2>&1) || found=$?
echo "$output"
[[ $found == "$status" ]] || { echo "exit status $found, expected $status" >&2; exit 1; }
[[ $output =~ $expected ]] || { echo "the output does not match '$expected'" >&2; exit 1; }
# One line for each check, or one error.
grep -vqE '^(trace |VERIFY [a-z]+ +: (PASS|FAIL) |RESULT |minigift: )' <<<"$output" && { echo "stray lines" >&2; exit 1; }
rm -rf "$folder"
