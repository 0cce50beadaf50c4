# SPDX-License-Identifier: BSL-1.0
# cmake -P: builds the consumer in one of three ways, and runs it.

set(here "${work_dir}/${way}")

function(must_run)
    execute_process(COMMAND ${ARGV} RESULT_VARIABLE result)
    if(NOT result EQUAL 0)
        string(JOIN " " line ${ARGV})
        message(FATAL_ERROR "exit code ${result} of: ${line}")
    endif()
endfunction()

if(way STREQUAL "pkg_config")
    find_program(pkg_config NAMES pkg-config pkgconf REQUIRED)
    set(ENV{PKG_CONFIG_PATH} "${work_dir}/prefix/${libdir}/pkgconfig")
    file(MAKE_DIRECTORY "${here}")
    foreach(program IN ITEMS main=mortise lock_only=mortise-lock)
        string(REPLACE "=" ";" program "${program}")
        list(POP_BACK program package)
        execute_process(COMMAND "${pkg_config}" --cflags --libs ${package}
            OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        separate_arguments(answer UNIX_COMMAND "${answer}")
        must_run("${compiler}" -std=c++20 ${flags} "-I${boost_include}"
            "${consumer_dir}/project/${program}.cpp" ${answer} -o "${here}/${program}")
        must_run("${here}/${program}")
    endforeach()
    return()
endif()

set(options "-DCMAKE_CXX_COMPILER=${compiler}" "-DCMAKE_CXX_COMPILER_LAUNCHER=${launcher}")
if(way STREQUAL "find_package")
    set(ENV{CMAKE_PREFIX_PATH} "${work_dir}/prefix:$ENV{CMAKE_PREFIX_PATH}")
    list(APPEND options "-DCMAKE_CXX_FLAGS=${flags}")
else()
    list(APPEND options "-DMORTISE_SOURCE_DIR=${source_dir}")
endif()
must_run("${CMAKE_COMMAND}" -S "${consumer_dir}/project" -B "${here}" -G "${generator}" ${options})
must_run("${CMAKE_COMMAND}" --build "${here}")
must_run("${here}/consumer")
if(way STREQUAL "find_package")
    must_run("${here}/lock_only")
endif()
