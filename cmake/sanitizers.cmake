# SPDX-License-Identifier: BSL-1.0
# MORTISE_SANITIZE applies to everything that is built in this tree.

if(MORTISE_SANITIZE)
    if(NOT MORTISE_SANITIZE MATCHES "^(address|undefined|address,undefined|thread)$")
        message(FATAL_ERROR "MORTISE_SANITIZE is '${MORTISE_SANITIZE}': it must be empty, "
            "'address,undefined' or 'thread'.")
    endif()
    add_compile_options(-fsanitize=${MORTISE_SANITIZE} -fno-omit-frame-pointer
        -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${MORTISE_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND MORTISE_SANITIZE MATCHES "address,undefined")
        # Half as much compile time again for what ASan sees by itself (a null pointer that is
        # used), or what x86 forgives (alignment). clang checks both in the fuzzers' build.
        add_compile_options(-fno-sanitize=null,alignment)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND MORTISE_SANITIZE STREQUAL "thread")
        add_compile_options(-Wno-tsan) # the fences of libstdc++ itself
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND MORTISE_SANITIZE MATCHES "undefined"
       AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
        # "Cannot represent a difference across sections" on coroutines
        add_compile_options(-fno-sanitize=function)
    endif()
endif()

# The fuzzer sees which code an input reaches, in the libraries, too. Its main is linked with the
# fuzz targets only.
if(MORTISE_BUILD_FUZZERS)
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR MORTISE_BUILD_TESTS)
        message(FATAL_ERROR "MORTISE_BUILD_FUZZERS needs clang and MORTISE_BUILD_TESTS=OFF: "
            "`./run fuzz` sets both.")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
