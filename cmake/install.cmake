# SPDX-License-Identifier: BSL-1.0
# install(), the exported targets, mortise-config.cmake and mortise.pc.

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

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mortise")
install(EXPORT mortise-targets NAMESPACE mortise:: DESTINATION "${package_dir}")
configure_package_config_file(cmake/mortise-config.cmake.in
    "${PROJECT_BINARY_DIR}/mortise-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/mortise-config-version.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/mortise-config.cmake"
    "${PROJECT_BINARY_DIR}/mortise-config-version.cmake" DESTINATION "${package_dir}")
