#!/usr/bin/env bash
# Everything that only a GPU can show, in one run with one table at its end.
set -uo pipefail

usage() {
  cat <<'TEXT'
usage: tests/gpu/check.sh [options]

Configures and builds with the CUDA preset, then on one NVIDIA GPU:

  units        unit tests, on the GPU
  staged       two ranks that share the GPU, MPI through host memory
  nccl         the exchange's tests over NCCL, one rank
  step         one step of llama-16m, GPU against host, tensor by tensor (fp32, tf32, bf16)
  staging      a training over NCCL copies no gradient between GPU and host (staged_bytes = 0)
  sanitizer    compute-sanitizer on the kernels: memcheck, racecheck
  llama-300m   phase times of a step, every method
  llama-600m   the same
  bandwidth    quantize, transform and native add against a measured copy

  --kokkos DIR      an installed Kokkos with its CUDA backend (default: what CMake finds)
  --build DIR       GPU build folder (default build-cuda); --no-build uses it as it is
  --host-build DIR  host build folder for the comparison (default build); built unless --no-build
  --only A,B,...    these parts only
  --out DIR         logs, run.json files and summary.txt (default runs/gpu-check-DATE-TIME; must not exist)
  --time-limit S    each part is ended after S seconds (default 240)
  --rehearse        no GPU: the script's own paths are exercised with a host build; every line says so

Environment: MINIGIFT_JOBS parallel compilations (default: number of cores).
Exit status: 0 every part passed, 1 a part failed, 2 something is missing.
TEXT
}

cd "$(dirname "$(readlink -f "$0")")/../.."
kokkos="" build=build-cuda host_build=build only="" out="" limit=240 rehearse=0 compile=1
while (($#)); do
  case $1 in
    --kokkos | --build | --host-build | --only | --out | --time-limit)
      if (($# < 2)); then
        echo "check.sh: $1 needs a value (see --help)" >&2
        exit 2
      fi
      ;;&
    --kokkos) kokkos=$(readlink -f "$2") && shift 2 ;;
    --build) build=$2 && shift 2 ;;
    --host-build) host_build=$2 && shift 2 ;;
    --only) only=$2 && shift 2 ;;
    --out) out=$2 && shift 2 ;;
    --time-limit) limit=$2 && shift 2 ;;
    --no-build) compile=0 && shift ;;
    --rehearse) rehearse=1 && shift ;;
    --help) usage && exit 0 ;;
    *)
      echo "check.sh: unknown option $1 (see --help)" >&2
      exit 2
      ;;
  esac
done

start=$SECONDS
note="" && ((rehearse)) && note="REHEARSAL WITHOUT A GPU "
say() { printf '[%4ds] %s%s\n' "$((SECONDS - start))" "$note" "$*"; }
missing() {
  say "check.sh: $*"
  exit 2
}

# --- the machine ---------------------------------------------------------------------------------------------------
if ((rehearse)); then
  gpu="none"
else
  command -v nvidia-smi >/dev/null || missing "no nvidia-smi on the PATH: this needs an NVIDIA GPU and its driver"
  gpu=$(nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,power.limit --format=csv,noheader |
    head -n 1) || missing "nvidia-smi finds no GPU"
fi
say "GPU: $gpu"

out=${out:-runs/gpu-check-$(date +%Y%m%d-%H%M%S)}
[[ -e $out ]] && missing "$out exists; results are never overwritten"
mkdir -p "$out" || missing "$out cannot be made"
out=$(readlink -f "$out")
jobs=${MINIGIFT_JOBS:-$(nproc)}

# Open MPI refuses root, and more ranks than cores, unless told.
if ((EUID == 0)); then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
export OMPI_MCA_rmaps_base_oversubscribe=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}

# --- parts ---------------------------------------------------------------------------------------------------------
rows=()
failed=0
# part NAME COMMAND...: runs a function or program, its output into a log, under the time limit; keeps a row.
part() {
  local name=$1 status=0 began=$SECONDS verdict
  shift
  if [[ -n $only && ",$only," != *",$name,"* ]]; then return; fi
  say "$name: $*"
  export -f "$1" 2>/dev/null
  timeout --kill-after=10 "$limit" bash -c 'set -o pipefail; "$@"' part "$@" >"$out/$name.log" 2>&1 || status=$?
  case $status in
    0) verdict=PASS ;;
    77) verdict=SKIP ;;
    124 | 137) verdict="FAIL (ended after $limit s)" && failed=1 ;;
    *) verdict="FAIL (exit $status)" && failed=1 ;;
  esac
  [[ $verdict == FAIL* ]] && tail -n 15 "$out/$name.log"
  # A part may leave one line of figures: its last line that begins with "figure:".
  local figure
  figure=$(sed -n 's/^figure: //p' "$out/$name.log" | tail -n 1)
  rows+=("$(printf '%-12s %-26s %5d s  %s' "$name" "$verdict" "$((SECONDS - began))" "$figure")")
  say "$name: $verdict $figure"
}

configure_and_build() {
  local options=(-DMINIGIFT_BUILD_TESTS=ON)
  if ((!rehearse)); then
    [[ -n $kokkos ]] && options+=("-DKokkos_ROOT=$kokkos")
    [[ -x $kokkos/bin/nvcc_wrapper ]] && options+=("-DCMAKE_CXX_COMPILER=$kokkos/bin/nvcc_wrapper")
    cmake --preset cuda -B "$build" "${options[@]}" && cmake --build "$build" -j"$jobs"
  fi
  cmake --preset default -B "$host_build" && cmake --build "$host_build" -j"$jobs" --target step_comparison
}
if ((compile)); then
  say "build: $build (GPU), $host_build (host)"
  configure_and_build >"$out/build.log" 2>&1 || {
    tail -n 30 "$out/build.log"
    missing "the build failed: $out/build.log"
  }
fi
((rehearse)) && build=$host_build
[[ -x $build/minigift ]] || missing "$build/minigift is missing: build first, or leave out --no-build"
export build host_build out rehearse
export nccl=nccl && ((rehearse)) && export nccl=host

ctest_part() {  # ctest_part ARGUMENTS...: the tests that they choose
  local output status=0
  output=$(ctest --test-dir "$build" --output-on-failure --no-tests=error --timeout 200 "$@" 2>&1) || status=$?
  printf '%s\n' "$output"
  echo "figure: $(grep 'tests passed' <<<"$output")"
  return "$status"
}

staged_ranks() {
  MINIGIFT_SHARE_GPU=1 ctest_part -R "_ranks_2$"  # which leaves host memory as the only way
}

one_rank_nccl() {
  ctest_part -R "_ranks_1$"  # a GPU of its own: the automatic choice is NCCL
}

step_against_host() {
  local compute status=0 computes="fp32 tf32 bf16"
  ((rehearse)) && computes="fp32 bf16"
  for compute in $computes; do
    # A host has no TF32: there the reference is FP32, and the bounds are TF32's.
    local reference=$compute
    [[ $compute == tf32 ]] && reference=fp32
    "$host_build"/tests/gpu/step_comparison record "$out/step-host-$compute" tests/gpu/llama-16m.toml \
      --set train.compute="$reference" || status=1
    "$build"/tests/gpu/step_comparison record "$out/step-gpu-$compute" tests/gpu/llama-16m.toml \
      --set train.compute="$compute" || status=1
    "$host_build"/tests/gpu/step_comparison compare "$out/step-gpu-$compute" "$out/step-host-$compute" |
      tee "$out/step-$compute.txt" || status=1
    rm -f "$out"/step-*/*.f32
  done
  echo "figure: worst gradient $(sed -n 's/^gradient .*worst \([^ ]*\) .*/\1/p' "$out"/step-*.txt | paste -sd ' ') (in the order of: $(
    ls "$out"/step-*.txt | sed 's/.*step-\(.*\).txt/\1/' | paste -sd ' '))"
  return "$status"
}

no_gradient_staged() {
  "$build"/minigift train inputs/quickstart.toml --set data.source=synthetic --set train.steps=6 \
    --set exchange.transport="$nccl" --out "$out/staging" || return 1
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "staged_bytes") column = i; if (!column) exit 1; next }
           { if ($column > most) most = $column; ++steps }
           END { if (!steps) exit 1; printf "figure: most bytes staged in a step: %d, of %d steps\n", most, steps;
                 exit most > 0 }' "$out/staging/steps.csv"
}

sanitized() {
  command -v compute-sanitizer >/dev/null || {
    echo "figure: compute-sanitizer is not on the PATH"
    return 77
  }
  local program tool status=0
  for tool in memcheck racecheck; do
    for program in "$build"/tests/kernels/{format_quantize_test,nn_attention_test,nn_rms_norm_test,nn_embedding_test,optim_muon_test}; do
      echo "$tool $program"
      compute-sanitizer --tool "$tool" --error-exitcode 9 "$program" || status=1
    done
  done
  return "$status"
}

phase_times() {  # phase_times MODEL SEQUENCE
  "$build"/minigift train tests/gpu/phases.toml --set model.deck="$1" --set train.sequence_length="$2" \
    --set exchange.transport="$nccl" --out "$out/$1" || return 1
  python3 - "$out/$1/run.json" <<'PYTHON'
import json, sys
record = json.load(open(sys.argv[1]))
print("figure: " + ", ".join(f"{m['method']} {1e3 * m['step_seconds_median']:.1f} ms" for m in record["methods"]))
PYTHON
}

bandwidth() {
  [[ -x $build/benchmarks/quantize_benchmark ]] || {
    echo "figure: benchmarks were not built (MINIGIFT_BUILD_BENCHMARKS)"
    return 77
  }
  # Buffers beyond every cache, and one that a GPU's second level holds.
  local sizes='/(2097152|67108864)/' shapes=.
  [[ $rehearse == 1 ]] && sizes=/262144/ shapes=low_rank
  "$build/benchmarks/quantize_benchmark" --benchmark_filter="$sizes" --benchmark_min_time=0.1 \
    --benchmark_out="$out/quantize.json" --benchmark_out_format=json || return 1
  "$build/benchmarks/whitening_benchmark" --benchmark_filter="$shapes" --benchmark_min_time=0.1 \
    --benchmark_out="$out/whitening.json" --benchmark_out_format=json || return 1
  python3 - "$out/quantize.json" <<'PYTHON'
import json, sys
best = {}
for run in json.load(open(sys.argv[1]))["benchmarks"]:
    if "bytes_per_second" in run:
        name = run["name"].rsplit("/", 1)[0]
        best[name] = max(best.get(name, 0), run["bytes_per_second"])
copy = best.get("copy") or max(best.values())
for name, value in sorted(best.items()):
    print(f"{name:<40} {value / 1e9:9.1f} GB/s {value / copy:6.2f} of copy")
print(f"figure: copy {copy / 1e9:.0f} GB/s; lowest share {min(best.values()) / copy:.2f}")
PYTHON
}

export -f ctest_part
part units ctest_part -L unit
part staged staged_ranks
part nccl one_rank_nccl
part step step_against_host
part staging no_gradient_staged
((rehearse)) || part sanitizer sanitized
if ((rehearse)); then
  part llama-4m phase_times llama-4m 128
else
  part llama-300m phase_times llama-300m 4096
  part llama-600m phase_times llama-600m 2048
fi
part bandwidth bandwidth

{
  printf '%sGPU: %s\ncommit %s, %s\n\n' "$note" "$gpu" "$(git rev-parse HEAD 2>/dev/null || echo unknown)" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
  printf '%-12s %-26s %7s  %s\n' part verdict time figure
  printf '%s\n' "${rows[@]}"
} | tee "$out/summary.txt"
if ((failed)); then verdict=FAIL; else verdict=PASS; fi
say "gpu check: $verdict, logs in $out"
exit "$failed"
