# minigift comm as a user meets it. Included by CMakeLists.txt: add_program_test is there.
set(comm_deck ${CMAKE_CURRENT_SOURCE_DIR}/comm.toml)
set(comm_out ${CMAKE_CURRENT_BINARY_DIR}/comm)
set(comm_kept ${CMAKE_CURRENT_BINARY_DIR}/comm-kept)
set(comm_data ${PROJECT_SOURCE_DIR}/tests/comm)
add_program_test(comm_valid 4 0
  "a2a.*PASS.*SKIPPED .1.*MPI has no type for bf16.*VERIFY reduce +: PASS.*VERIFY wire +: PASS.*FOM gradient_bandwidth native fp32.*RESULT VALID"
  ARGUMENTS comm ${comm_deck} --out ${comm_out} REMOVE ${comm_out} FILES ${comm_out}/run.json ${comm_out}/comm.csv)
add_program_test(comm_never_overwrites 2 2 "minigift: .*comm" ARGUMENTS comm ${comm_deck} --out ${comm_out})
set_tests_properties(program_comm_never_overwrites PROPERTIES DEPENDS program_comm_valid)
add_program_test(comm_two_nodes 4 0 "4 ranks on 2 nodes.*hierarchical.*PASS.*RESULT VALID"
  ARGUMENTS comm ${comm_deck} --set exchange.ranks_per_node=2)
# Neither a model nor data: any number of ranks.
add_program_test(comm_three_ranks 3 0 "RESULT VALID" ARGUMENTS comm ${comm_deck} --keep ${comm_kept} REMOVE ${comm_kept}
  FILES ${comm_kept}/comm-r3.json)
add_program_test(comm_one_rank 1 0 "RESULT VALID" ARGUMENTS comm ${comm_deck})
add_program_test(comm_references 2 0
  "Beside the reference curves.*nccl-tests all-reduce float.*osu all-reduce MPI_CHAR.*RESULT VALID"
  ARGUMENTS comm ${comm_deck} --reference ${comm_data}/nccl.json --reference ${comm_data}/osu_allreduce.txt)
add_program_test(comm_bad_reference 2 2 "minigift: .*CMakeLists.txt:1: numbers before a line"
  ARGUMENTS comm ${comm_deck} --reference ${comm_data}/CMakeLists.txt)
add_program_test(comm_no_reference 2 2 "minigift: --reference no-such-file: cannot read"
  ARGUMENTS comm ${comm_deck} --reference no-such-file)
add_program_test(comm_sizes 2 2 "minigift: .*comm.minimum_bytes.*comm.maximum_bytes"
  ARGUMENTS comm ${comm_deck} --set comm.minimum_bytes=1048576)
add_program_test(comm_impossible 2 2 "minigift: comm.collectives: native can be used with none of comm.formats"
  ARGUMENTS comm ${comm_deck} --set comm.formats=int8 --set comm.collectives=native)
add_program_test(comm_help 2 0 "reference.*keep" ARGUMENTS comm --help)
add_program_test(comm_print_deck 2 0 "minimum_bytes +[=]? *4096" ARGUMENTS comm ${comm_deck} --print-deck)
add_program_test(comm_lone_rank 1 2 "minigift: .*OMPI_COMM_WORLD_SIZE"
  COMMAND ${CMAKE_COMMAND} -E env OMPI_COMM_WORLD_SIZE=2 $<TARGET_FILE:minigift> comm ${comm_deck})

# A single changed element: the result is invalid, whatever the place and the rank (tests/comm tries all of them).
add_program_test(comm_fault 3 1 "INJECTED.*FAIL.*VERIFY checksum +: FAIL.*ranks hold different bits.*RESULT INVALID"
  LINES 0 ARGUMENTS comm ${comm_deck} --set inject.fault=middle --set inject.fault_rank=1)
# A rank that does not come, or leaves out a barrier: the watchdog names where the others wait.
foreach(hang sleep skip)
  add_program_test(comm_hang_${hang} 3 1 "watchdog: rank [02] waited [0-9.]+ s in barrier #[0-9]+" LINES 0
    ARGUMENTS comm ${comm_deck} --set inject.hang=${hang} --set inject.hang_rank=1 --set exchange.watchdog_seconds=1.5)
endforeach()
