# `minigift compare` and results/plot_scaling.py as a user meets them, on made-up records (make_records.py).
set(records ${CMAKE_CURRENT_BINARY_DIR}/records)
set(python /usr/bin/python3)

# compare_program_test(name status expected COMMAND ... [FILES f ...] [REMOVE path] [LINES])
# LINES: the output is one line of error and nothing else counts.
function(compare_program_test name status expected)
  cmake_parse_arguments(ARG "LINES" "REMOVE" "COMMAND;FILES" ${ARGN})
  set(lines "")
  if(ARG_LINES)
    set(lines "-DLINES=1")
  endif()
  add_test(NAME compare_${name}
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${ARG_COMMAND}" -DSTATUS=${status} "-DEXPECTED=${expected}" ${lines}
      "-DFILES=${ARG_FILES}" "-DREMOVE=${ARG_REMOVE}" -P ${PROJECT_SOURCE_DIR}/tests/commands/run_minigift.cmake)
  set_tests_properties(compare_${name} PROPERTIES TIMEOUT 120 LABELS "program"
    ENVIRONMENT "${MINIGIFT_MPI_TEST_ENVIRONMENT}" FIXTURES_REQUIRED compare_records)
endfunction()

# Five sets of records: a baseline, the same again, a slower wire, another batch, an invalid run.
set(make ${python} ${CMAKE_CURRENT_SOURCE_DIR}/make_records.py)
set(old_arguments --comm)
set(again_arguments --comm --seed 2)
set(slow_arguments --comm --seed 3 --slow gift:wire:1.2)
set(batch_arguments --batch 32)
set(invalid_arguments --invalid)
foreach(kind old again slow batch invalid)
  add_test(NAME compare_records_${kind} COMMAND ${make} ${records}/${kind} ${${kind}_arguments})
  set_tests_properties(compare_records_${kind} PROPERTIES LABELS "program" FIXTURES_SETUP compare_records)
endforeach()
file(WRITE ${records}/misspelt.toml "[bands]\nstep_second = 0.1\n")
file(WRITE ${records}/wide.toml "[bands]\nwire_seconds = 0.5\n")

set(compare $<TARGET_FILE:minigift> compare)
compare_program_test(equal 0 "COMPARE [0-9]+ PASS, [0-9]+ WARN, 0 FAIL, 0 UNKNOWN\n$"
  COMMAND ${compare} ${records}/old ${records}/again)
compare_program_test(slow 3 "regressions:.*gift +8 +wire_seconds.*COMPARE [0-9]+ PASS, [0-9]+ WARN, [1-9] FAIL"
  COMMAND ${compare} ${records}/old ${records}/slow --json ${records}/out/compare.json
          --junit ${records}/out/compare.xml
  REMOVE ${records}/out FILES ${records}/out/compare.json ${records}/out/compare.xml)
add_test(NAME compare_junit COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/check_junit.py ${records}/out/compare.xml
  ${records}/out/compare.json)
set_tests_properties(compare_junit PROPERTIES DEPENDS compare_slow LABELS "program" FIXTURES_REQUIRED compare_records)
compare_program_test(never_overwrites 2 "minigift: .*compare\\.json exists" LINES
  COMMAND ${compare} ${records}/old ${records}/slow --json ${records}/out/compare.json)
set_tests_properties(compare_never_overwrites PROPERTIES DEPENDS compare_slow)
compare_program_test(wide_bands 0 "0 FAIL"
  COMMAND ${compare} ${records}/old ${records}/slow --bands ${records}/wide.toml --band 0.3)
compare_program_test(unlike 2 "minigift: fp32 of .*global_batch 64 against 32 .--force" LINES
  COMMAND ${compare} ${records}/old ${records}/batch)
compare_program_test(forced 0 "NOTE FORCED fp32.*global_batch 64 against 32"
  COMMAND ${compare} ${records}/old ${records}/batch --force)
compare_program_test(invalid 2 "minigift: .*invalid/step-r1\\.json: the run's result was INVALID" LINES
  COMMAND ${compare} ${records}/old ${records}/invalid)
compare_program_test(allowed 0 "0 FAIL" COMMAND ${compare} ${records}/old ${records}/invalid --allow-invalid)
compare_program_test(part 0 "not in current.*[1-9][0-9]* UNKNOWN\n$"
  COMMAND ${compare} ${records}/old ${records}/again/step-r4.json)
compare_program_test(strict 3 "UNKNOWN fails" COMMAND ${compare} ${records}/old ${records}/again/step-r4.json --strict)
compare_program_test(nothing_judged 2 "minigift: nothing could be judged"
  COMMAND ${compare} ${records}/old ${records}/again --min-samples 100)
compare_program_test(nothing_in_common 2 "minigift: .*no case in common" LINES
  COMMAND ${compare} ${records}/old/step-r2.json ${records}/old/step-r4.json)
compare_program_test(misspelt_metric 2 "minigift: .*misspelt\\.toml:2:1.*step_second.*step_seconds" LINES
  COMMAND ${compare} ${records}/old ${records}/again --bands ${records}/misspelt.toml)
compare_program_test(no_file 2 "minigift: .*none: no such file or folder" LINES
  COMMAND ${compare} ${records}/old ${records}/none)
compare_program_test(missing_argument 2 "minigift: .*CURRENT" LINES COMMAND ${compare} ${records}/old)

set(plot ${python} ${PROJECT_SOURCE_DIR}/results/plot_scaling.py)
set(pictures ${records}/pictures)
compare_program_test(pictures 0 "wrote .*scaling\\.png.*phases\\.png.*step\\.png.*comm\\.png"
  COMMAND ${plot} ${records}/old --output ${pictures} REMOVE ${pictures}
  FILES ${pictures}/scaling.png ${pictures}/phases.png ${pictures}/step.png ${pictures}/comm.png)
compare_program_test(pictures_of_nothing 2 "plot_scaling\\.py: .*no records" COMMAND ${plot} ${records}/pictures)
set_tests_properties(compare_pictures_of_nothing PROPERTIES DEPENDS compare_pictures)
compare_program_test(pictures_of_no_folder 2 "plot_scaling\\.py: .*none is no folder" COMMAND ${plot} ${records}/none)

# End to end: a baseline is kept, a phase is made slower on purpose, the gate closes. Waits instead of computation, so that
# what else runs on this machine matters little.
set(timed ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 ${MPIEXEC_PREFLAGS} $<TARGET_FILE:minigift> step
  ${PROJECT_SOURCE_DIR}/tests/commands/tiny.toml --set exchange.methods=fp32 --set step.compute=timed
  --set step.forward_seconds=0.04 --set step.backward_seconds=0.06 --set step.optimizer_seconds=0.01
  --set step.warmup=1 --set step.iterations=12)
set(gate ${records}/gate)
compare_program_test(gate_baseline 0 "RESULT VALID" COMMAND ${timed} --keep ${gate}/baseline REMOVE ${gate})
compare_program_test(gate_rerun 0 "RESULT VALID"
  COMMAND ${timed} --out ${gate}/slow --set output.figures=false --set inject.slow_phase=forward
          --set inject.slow_percent=30)
compare_program_test(gate_closes 3 "regressions:.*fp32 +2 +forward_seconds" COMMAND ${compare} ${gate}/baseline ${gate}/slow)
set_tests_properties(compare_gate_rerun PROPERTIES DEPENDS compare_gate_baseline PROCESSORS 2)
set_tests_properties(compare_gate_baseline PROPERTIES PROCESSORS 2)
set_tests_properties(compare_gate_closes PROPERTIES DEPENDS compare_gate_rerun)
