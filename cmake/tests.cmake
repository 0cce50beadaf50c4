# SPDX-License-Identifier: BSL-1.0

find_package(GTest CONFIG QUIET)
if(NOT GTest_FOUND)
    message(FATAL_ERROR "The tests need GoogleTest: install libgtest-dev and libgmock-dev, or "
        "leave the tests out with -DMORTISE_BUILD_TESTS=OFF.")
endif()
include(GoogleTest)

# mortise_test_options(TARGET): how sources of tests are compiled.
function(mortise_test_options target)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND MORTISE_SANITIZE STREQUAL "address,undefined")
        # The product has both sanitizers. In tests, which are mostly coroutines, UBSan would take a
        # quarter of the time to compile, and ASan takes less by calls than by code in place.
        target_compile_options(${target} PRIVATE -fno-sanitize=undefined
            --param=asan-instrumentation-with-call-threshold=0)
    endif()
endfunction()

# mortise_test_support(SOURCES...): the library of what tests share, in tests/support.
function(mortise_test_support)
    if(ARGN)
        add_library(mortise_test_support STATIC ${ARGN})
        mortise_defaults(mortise_test_support)
        mortise_test_options(mortise_test_support)
        set(scope PUBLIC)
    else()
        add_library(mortise_test_support INTERFACE)
        set(scope INTERFACE)
    endif()
    target_compile_features(mortise_test_support ${scope} cxx_std_20)
    target_include_directories(mortise_test_support ${scope} "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(mortise_test_support ${scope} mortise::mortise GTest::gtest GTest::gmock)
endfunction()

# mortise_tests(LABEL SOURCES... [ALONE...] [SHARDS n] [PROOF filters...] [PROOF_ONLY filters...]
#     [PROOF_SHARDS n] [SERIAL] [TIMEOUT s] [CASE_TIMEOUT s] [COST n])
#
# The binary LABEL_tests. A start of it takes longer than most of its cases, so ctest runs it as
# SHARDS entries LABEL.1, LABEL.2, ..., each with every n-th case. With MORTISE_CASES in the
# environment, ctest sees one entry for each case, named LABEL.Suite.Case, for `./run test -R`.
# Tests may look into the private folders of the libraries ("core/x.hpp").
#
# PROOF: cases that `./run proof` runs once more, with the larger numbers that amount() then gives.
# PROOF_ONLY: cases that only `./run proof` runs. PROOF_SHARDS: into how many entries those of
# `./run proof` are divided, LABEL.proof.1 and so on; else there is one, LABEL.proof. TIMEOUT is for
# an entry; a case has 120 s, or what CASE_TIMEOUT says. ALONE: sources that cannot share a
# translation unit with others. SERIAL: no other test runs beside these. COST: about how many
# seconds an entry takes; ctest starts the longest first, so that no long one is left for the end.
function(mortise_tests label)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL" "TIMEOUT;CASE_TIMEOUT;SHARDS;PROOF_SHARDS;COST"
        "SOURCES;ALONE;PROOF;PROOF_ONLY")
    if(NOT arg_SOURCES AND NOT arg_ALONE)
        return()
    endif()
    set(target ${label}_tests)
    add_executable(${target} ${arg_SOURCES} ${arg_ALONE})
    mortise_defaults(${target})
    target_link_libraries(${target} PRIVATE mortise_test_support mortise_test_main)
    target_include_directories(${target} PRIVATE
        "${PROJECT_SOURCE_DIR}/coro/src" "${PROJECT_SOURCE_DIR}/lib/src")
    if(MORTISE_WITH_SQLITE)
        target_link_libraries(${target} PRIVATE SQLite::SQLite3)
    endif()
    mortise_test_options(${target})
    if(arg_ALONE)
        set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    mortise_case_entries(${target} ${label})
    mortise_shard_entries(${target} ${label})
endfunction()

# The entries of a binary that has cases, when ctest is asked for single ones. (An inner part of
# mortise_tests, whose arguments it sees.)
function(mortise_case_entries target label)
    set(properties LABELS ${label} TIMEOUT 180)
    if(arg_SERIAL)
        list(APPEND properties RUN_SERIAL ON)
    endif()
    get_property(before DIRECTORY PROPERTY TEST_INCLUDE_FILES)
    gtest_discover_tests(${target} TEST_PREFIX "${label}." DISCOVERY_MODE PRE_TEST
        NO_PRETTY_TYPES NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
    get_property(after DIRECTORY PROPERTY TEST_INCLUDE_FILES)
    list(REMOVE_ITEM after ${before})
    set(only_on_request "${CMAKE_CURRENT_BINARY_DIR}/${target}_cases.cmake")
    file(WRITE "${only_on_request}"
        "if(DEFINED ENV{MORTISE_CASES})\n  include(\"${after}\")\nendif()\n")
    set_property(DIRECTORY PROPERTY TEST_INCLUDE_FILES ${before} "${only_on_request}")
endfunction()

# The entries that ctest has otherwise. They are written by hand, as those of add_test() are always
# there.
function(mortise_shard_entries target label)
    set(case_seconds 120)
    if(arg_CASE_TIMEOUT)
        set(case_seconds ${arg_CASE_TIMEOUT})
    endif()
    set(entry_seconds 600)
    if(arg_TIMEOUT)
        set(entry_seconds ${arg_TIMEOUT})
    endif()
    set(shards 1)
    if(arg_SHARDS)
        set(shards ${arg_SHARDS})
    endif()
    set(cost 1)
    if(arg_COST)
        set(cost ${arg_COST})
    endif()
    set(serial OFF)
    if(arg_SERIAL)
        set(serial ON)
    endif()
    list(JOIN arg_PROOF_ONLY ":" left_out)
    string(JOIN ":" proof ${arg_PROOF_ONLY} ${arg_PROOF})
    set(entries "")
    math(EXPR last "${shards} - 1")
    foreach(index RANGE ${last})
        math(EXPR number "${index} + 1")
        mortise_entry(${label}.${number} "*:-${left_out}" "${label}" ${entry_seconds}
            "GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
    endforeach()
    if(proof AND arg_PROOF_SHARDS)
        math(EXPR last "${arg_PROOF_SHARDS} - 1")
        foreach(index RANGE ${last})
            math(EXPR number "${index} + 1")
            mortise_entry(${label}.proof.${number} "${proof}" "${label};proof" 1800
                "MORTISE_PROOF=1;GTEST_TOTAL_SHARDS=${arg_PROOF_SHARDS};GTEST_SHARD_INDEX=${index}")
        endforeach()
    elseif(proof)
        mortise_entry(${label}.proof "${proof}" "${label};proof" 1800 "MORTISE_PROOF=1")
    endif()
    set(file "${CMAKE_CURRENT_BINARY_DIR}/${target}_shards")
    file(GENERATE OUTPUT "${file}.cmake" CONTENT
        "if(NOT DEFINED ENV{MORTISE_CASES})\n${entries}endif()\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}.cmake")
endfunction()

# One of them, for the script that ctest reads. A filter that selects nothing is an error.
macro(mortise_entry name filter labels seconds environment)
    string(APPEND entries
        "add_test([[${name}]] [[$<TARGET_FILE:${target}>]]\n"
        "  --gtest_brief=1 [[--gtest_filter=${filter}]])\n"
        "set(report)\n"
        "if(DEFINED ENV{MORTISE_TIMES})\n"
        "  set(report \";GTEST_OUTPUT=json:\$ENV{MORTISE_TIMES}/${name}.json\")\n"
        "endif()\n"
        "set_tests_properties([[${name}]] PROPERTIES LABELS [[${labels}]] TIMEOUT ${seconds}\n"
        "  COST ${cost} RUN_SERIAL ${serial}\n"
        "  FAIL_REGULAR_EXPRESSION \"0 tests from 0 test suites ran\"\n"
        "  ENVIRONMENT \"MORTISE_CASE_SECONDS=${case_seconds};${environment}\${report}\")\n")
endmacro()
