# SPDX-License-Identifier: BSL-1.0
# What mortise is built for. Each refusal is one sentence that says what to do.

if(NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    message(FATAL_ERROR "mortise is for Linux only (timerfd, flock, Unix sockets and pidfds carry "
        "its promises), and this is ${CMAKE_SYSTEM_NAME}: build it on Linux, in a virtual machine "
        "or in a container.")
endif()

enable_language(CXX)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(compiler_floor 12)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    set(compiler_floor 16)
else()
    message(FATAL_ERROR "mortise is built with g++ 12 or newer or clang 16 or newer (19 is "
        "tested), and this is ${CMAKE_CXX_COMPILER_ID}: choose one with -DCMAKE_CXX_COMPILER=g++.")
endif()
if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS compiler_floor)
    message(FATAL_ERROR "mortise needs ${CMAKE_CXX_COMPILER_ID} ${compiler_floor} or newer for its "
        "C++20 coroutines, and this is ${CMAKE_CXX_COMPILER_VERSION}: choose another compiler with "
        "-DCMAKE_CXX_COMPILER=...")
endif()
unset(compiler_floor)
