# SPDX-License-Identifier: BSL-1.0
# How every target of this project is built.

set(mortise_warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion)

# mortise_defaults(TARGET): warnings and private definitions; nothing that users inherit.
function(mortise_defaults target)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
    target_compile_options(${target} PRIVATE ${mortise_warnings}
        $<$<BOOL:${MORTISE_WERROR}>:-Werror>)
    target_compile_definitions(${target} PRIVATE BOOST_ASIO_NO_DEPRECATED
        MORTISE_VERSION_STRING="${PROJECT_VERSION}")
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
