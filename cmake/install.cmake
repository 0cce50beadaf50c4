# SPDX-License-Identifier: BSL-1.0
# install(), the exported targets, mortise-config.cmake and the files of pkg-config.

include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY mortise_libraries)
foreach(target IN LISTS libraries)
    get_target_property(kind ${target} TYPE)
    if(kind STREQUAL "INTERFACE_LIBRARY")
        install(TARGETS ${target} EXPORT mortise-targets)
    else()
        install(TARGETS ${target} EXPORT mortise-targets
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    endif()
endforeach()
install(TARGETS mortise EXPORT mortise-targets)

# mortise_packages_below(RESULT TARGET): the packages, but for Boost, that TARGET and the libraries
# of mortise below it are linked with.
function(mortise_packages_below result target)
    set(packages "")
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    foreach(link IN LISTS links)
        string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
        if(link MATCHES "^mortise_")
            mortise_packages_below(below ${link})
            list(APPEND packages ${below})
        elseif(link MATCHES "^(Threads|SQLite3?|OpenSSL|RdKafka|PostgreSQL|ZooKeeper)::")
            string(REGEX REPLACE "^SQLite$" "SQLite3" package "${CMAKE_MATCH_1}")
            list(APPEND packages ${package})
        elseif(link STREQUAL "Boost::charconv")
            list(APPEND packages BoostCharconv)
        elseif(link AND NOT link STREQUAL "Boost::headers")
            message(FATAL_ERROR "${target} is linked with ${link}, and cmake/install.cmake does "
                "not know which package that is from.")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES packages)
    set(${result} ${packages} PARENT_SCOPE)
endfunction()

set(mortise_components "")
set(mortise_component_packages "")
foreach(target IN LISTS libraries)
    get_target_property(component ${target} EXPORT_NAME)
    mortise_packages_below(packages ${target})
    list(JOIN packages " " packages)
    list(APPEND mortise_components ${component})
    string(APPEND mortise_component_packages "set(mortise_packages_of_${component} ${packages})\n")
endforeach()
list(JOIN mortise_components " " mortise_components)
string(STRIP "${mortise_component_packages}" mortise_component_packages)
set(mortise_boost_hint "")
if(NOT Boost_DIR MATCHES "^/usr/(local/)?(lib|share)")
    set(mortise_boost_hint "${Boost_DIR}")
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mortise")
install(EXPORT mortise-targets NAMESPACE mortise:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/mortise-config.cmake.in
    "${PROJECT_BINARY_DIR}/mortise-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/mortise-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/mortise-config.cmake"
    "${PROJECT_BINARY_DIR}/mortise-config-version.cmake"
    cmake/find_packages.cmake cmake/FindRdKafka.cmake cmake/FindZooKeeper.cmake
    DESTINATION "${package_dir}")

# For programs that are not built by CMake: a file for each component, and mortise.pc for all that
# locks need.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(pc_flags "")
if(MORTISE_ASIO_SEPARATE_COMPILATION)
    string(APPEND pc_flags " -DBOOST_ASIO_SEPARATE_COMPILATION")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    string(APPEND pc_flags " -Wno-mismatched-new-delete") # coro/CMakeLists.txt says why
endif()

# mortise_pc(NAME LIBRARIES REQUIRES...): installs NAME.pc.
function(mortise_pc pc_name pc_libraries)
    list(JOIN ARGN ", " pc_requires)
    configure_file(cmake/mortise.pc.in "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

set(pc_of_SQLite sqlite3)
set(pc_of_SQLite3 sqlite3)
set(pc_of_OpenSSL openssl)
set(pc_of_PostgreSQL libpq)
set(pc_of_RdKafka "rdkafka >= 2.0")
set(pc_of_locks "")
foreach(target IN LISTS libraries)
    get_target_property(component ${target} EXPORT_NAME)
    get_target_property(kind ${target} TYPE)
    set(pc_libraries "")
    get_target_property(pc_options ${target} INTERFACE_LINK_OPTIONS)
    if(pc_options MATCHES "LINKER:(.*)")
        set(pc_libraries " -Wl,${CMAKE_MATCH_1}")
    endif()
    if(NOT kind STREQUAL "INTERFACE_LIBRARY")
        string(APPEND pc_libraries " -l${target}")
    endif()
    set(pc_requires "")
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    foreach(link IN LISTS links)
        string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
        if(link MATCHES "^mortise_(.*)")
            list(APPEND pc_requires "mortise-${CMAKE_MATCH_1}")
        elseif(link STREQUAL "Boost::charconv")
            string(APPEND pc_libraries " -lboost_charconv")
            get_target_property(charconv_links Boost::charconv INTERFACE_LINK_LIBRARIES)
            if(charconv_links MATCHES "quadmath")
                string(APPEND pc_libraries " -lquadmath")
            endif()
        elseif(link STREQUAL "ZooKeeper::client") # its packages bring no such file
            string(APPEND pc_libraries " -lzookeeper_st")
        elseif(link MATCHES "^(.*)::") # neither Boost nor threads have such a file
            list(APPEND pc_requires ${pc_of_${CMAKE_MATCH_1}})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES pc_requires)
    mortise_pc("mortise-${component}" "${pc_libraries}" ${pc_requires})
    if(component MATCHES "^(lock|redis|sqlite)$")
        list(PREPEND pc_of_locks "mortise-${component}") # linkers want users before the used
    endif()
endforeach()
mortise_pc(mortise "" ${pc_of_locks})
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
