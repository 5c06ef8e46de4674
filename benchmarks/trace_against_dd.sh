#!/usr/bin/env bash
# The trace writer against dd on the same disk, as many bytes each, in turn; medians.
#   trace_against_dd.sh BUILD FOLDER [RANKS [MIB_PER_RANK [ROUNDS]]]
# dd writes zeros with conv=fdatasync; the writer's time ends when its data are on the disk, too. The file systems' caches
# are as any run finds them, apart from a sync before each measurement.
set -euo pipefail
build=$1
folder=$2
ranks=${3:-2}
mib=${4:-512}
rounds=${5:-7}
export OMP_NUM_THREADS=1
median() { sort -g | awk '{ v[NR] = $1 } END { print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

work=$(mktemp -d "$folder/trace-against-dd.XXXXXX")
trap 'rm -rf "$work"' EXIT
writer() { mpirun -n "$ranks" "$build/benchmarks/trace_benchmark" "$work/trace.h5" "$mib"; }
bytes=$(writer | awk '{ print $4 }')
rm "$work/trace.h5"
for ((round = 1; round <= rounds; ++round)); do
  sync
  writer | awk '{ print $6 }' >>"$work/writer"
  rm "$work/trace.h5"
  sync
  LC_ALL=C dd if=/dev/zero of="$work/zeros" bs=16M count="$bytes" iflag=count_bytes conv=fdatasync 2>&1 |
    sed -n 's/.* copied, \([0-9.e+-]*\) s.*/\1/p' >>"$work/dd"
  rm "$work/zeros"
done
paste "$work/writer" "$work/dd" | awk '{ printf "round %d: writer %.3f s, dd %.3f s\n", NR, $1, $2 }'
awk -v ranks="$ranks" -v bytes="$bytes" -v writer="$(median <"$work/writer")" -v dd="$(median <"$work/dd")" 'BEGIN {
  printf "%d ranks, %d bytes: writer %.0f MB/s, dd %.0f MB/s, ratio of medians %.2f\n", ranks, bytes,
    bytes / writer / 1e6, bytes / dd / 1e6, dd / writer }'
