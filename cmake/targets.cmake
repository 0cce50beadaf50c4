# SPDX-License-Identifier: BSL-1.0
# How every target of this project is built.

set(mortise_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)

# mortise_batches(TARGET): compiles the sources in batches of at most 24, all about the same size: a
# source alone spends most of its time on headers and template instances that its neighbours need,
# too. Sources that cannot share a translation unit say SKIP_UNITY_BUILD_INCLUSION.
function(mortise_batches target)
    get_target_property(sources ${target} SOURCES)
    set(shared 0)
    foreach(source IN LISTS sources)
        if(source MATCHES "_impl\\.cpp$") # compiles a third-party library
            set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES
                SKIP_UNITY_BUILD_INCLUSION ON)
        endif()
        get_source_file_property(alone "${source}" TARGET_DIRECTORY ${target}
            SKIP_UNITY_BUILD_INCLUSION)
        if(source MATCHES "\\.cpp$" AND NOT alone)
            math(EXPR shared "${shared} + 1")
        endif()
    endforeach()
    if(shared LESS 2)
        return()
    endif()
    math(EXPR batches "(${shared} + 23) / 24")
    math(EXPR size "(${shared} + ${batches} - 1) / ${batches}")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # A source in a batch is an included file for g++, which then mistrusts unnamed namespaces.
        target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
endfunction()

# mortise_defaults(TARGET): warnings, batches and private definitions; nothing that users inherit.
function(mortise_defaults target)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    target_compile_options(${target} PRIVATE ${mortise_warnings}
        $<$<BOOL:${MORTISE_WERROR}>:-Werror>)
    target_compile_definitions(${target} PRIVATE BOOST_ASIO_NO_DEPRECATED
        MORTISE_CLOSURES_HAVE_NAMES # mortise/coro/detail/callable_check.hpp
        MORTISE_VERSION_STRING="${PROJECT_VERSION}")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # g++ 12, optimising, takes a coroutine frame's own operator delete for a foreign one.
        target_compile_options(${target} PRIVATE -Wno-mismatched-new-delete)
    endif()
    if(MORTISE_BATCHES) # at the end of the folder, when all sources are known
        cmake_language(EVAL CODE "cmake_language(DEFER CALL mortise_batches ${target})")
    endif()
endfunction()

# mortise_library(NAME SOURCES... HEADERS... [LINKS...]): the library mortise_NAME, also known as
# mortise::NAME. HEADERS are the public ones, under include/ of the calling folder; src/ is private.
function(mortise_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;LINKS")
    set(target mortise_${name})
    add_library(${target} ${arg_SOURCES})
    add_library(mortise::${name} ALIAS ${target})
    mortise_defaults(${target})
    target_compile_features(${target} PUBLIC cxx_std_20)
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}/src")
    target_link_libraries(${target} PUBLIC ${arg_LINKS})
    list(TRANSFORM arg_HEADERS PREPEND "include/")
    target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${arg_HEADERS})
    set_target_properties(${target} PROPERTIES
        EXPORT_NAME ${name}
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    if(NOT PROJECT_IS_TOP_LEVEL)
        # In a user's project: warnings are to be about that project, as with an installed mortise,
        # and what it does not link is not built.
        set_target_properties(${target} PROPERTIES SYSTEM ON)
        if(NOT MORTISE_INSTALL)
            set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
        endif()
    endif()
    set_property(GLOBAL APPEND PROPERTY mortise_libraries ${target})
endfunction()

# mortise_program(TARGET SOURCES... [LINKS...] [OUTPUT_NAME name])
function(mortise_program target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_NAME" "SOURCES;LINKS")
    add_executable(${target} ${arg_SOURCES})
    mortise_defaults(${target})
    target_link_libraries(${target} PRIVATE ${arg_LINKS})
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
    if(arg_OUTPUT_NAME)
        set_target_properties(${target} PROPERTIES OUTPUT_NAME "${arg_OUTPUT_NAME}")
    endif()
endfunction()
