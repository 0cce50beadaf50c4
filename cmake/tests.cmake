# SPDX-License-Identifier: BSL-1.0

find_package(GTest CONFIG QUIET)
if(NOT GTest_FOUND)
    message(FATAL_ERROR "The tests need GoogleTest: install libgtest-dev and libgmock-dev, or "
        "leave the tests out with -DMORTISE_BUILD_TESTS=OFF.")
endif()
include(GoogleTest)

# mortise_test_support(SOURCES...): the library of what tests share, in tests/support.
function(mortise_test_support)
    if(ARGN)
        add_library(mortise_test_support STATIC ${ARGN})
        mortise_defaults(mortise_test_support)
        set(scope PUBLIC)
    else()
        add_library(mortise_test_support INTERFACE)
        set(scope INTERFACE)
    endif()
    target_compile_features(mortise_test_support ${scope} cxx_std_20)
    target_include_directories(mortise_test_support ${scope} "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(mortise_test_support ${scope} mortise::mortise GTest::gtest GTest::gmock)
endfunction()

# mortise_tests(LABEL SOURCES... [ALONE...] [SUITES...] [SERIAL] [OWN_MAIN] [TIMEOUT s])
#
# The binary LABEL_tests and one ctest test for each of its cases, named LABEL.Suite.Case. Tests may
# look into the private folders of the libraries ("core/x.hpp"). ALONE: sources that cannot share a
# translation unit with others. SERIAL: no other test runs beside these. SUITES: one ctest test for
# each of these suites instead, where a program's start is dear; a suite that is missing is found.
function(mortise_tests label)
    cmake_parse_arguments(PARSE_ARGV 1 arg "SERIAL;OWN_MAIN" "TIMEOUT" "SOURCES;ALONE;SUITES")
    if(NOT arg_SOURCES AND NOT arg_ALONE)
        return()
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    set(target ${label}_tests)
    add_executable(${target} ${arg_SOURCES} ${arg_ALONE})
    mortise_defaults(${target})
    target_link_libraries(${target} PRIVATE mortise_test_support
        $<$<NOT:$<BOOL:${arg_OWN_MAIN}>>:GTest::gtest_main>)
    target_include_directories(${target} PRIVATE
        "${PROJECT_SOURCE_DIR}/coro/src" "${PROJECT_SOURCE_DIR}/lib/src")
    if(MORTISE_WITH_SQLITE)
        target_link_libraries(${target} PRIVATE SQLite::SQLite3)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # g++ 12 at -O2 takes a coroutine frame's own operator delete for a foreign one.
        target_compile_options(${target} PRIVATE -Wno-mismatched-new-delete)
    endif()
    if(arg_ALONE)
        set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
    set(properties LABELS ${label} TIMEOUT ${arg_TIMEOUT})
    if(arg_SERIAL)
        list(APPEND properties RUN_SERIAL ON)
    endif()
    if(arg_SUITES)
        foreach(suite IN LISTS arg_SUITES)
            add_test(NAME ${label}.${suite} COMMAND ${target} "--gtest_filter=${suite}.*")
            set_tests_properties(${label}.${suite} PROPERTIES ${properties}
                FAIL_REGULAR_EXPRESSION "0 tests from 0 test suites ran")
        endforeach()
        list(JOIN arg_SUITES ".*:" known)
        add_test(NAME ${label}.every_suite_is_known
            COMMAND ${target} "--gtest_filter=-${known}.*")
        set_tests_properties(${label}.every_suite_is_known PROPERTIES LABELS ${label}
            PASS_REGULAR_EXPRESSION "0 tests from 0 test suites ran")
        return()
    endif()
    gtest_discover_tests(${target} TEST_PREFIX "${label}." DISCOVERY_MODE PRE_TEST
        NO_PRETTY_TYPES NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()
