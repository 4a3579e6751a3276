# cpack: three Debian packages. Only the last one needs LLVM.
#   pure         the shared library, pure-run, pure-serve, man pages
#   libpure-dev  headers, static library, CMake package, pkg-config, examples
#   pure-jit     the plug-in of the compiled tiers
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pure)
set(CPACK_PACKAGE_VENDOR "The Pure project")
set(CPACK_PACKAGE_CONTACT "The Pure project <pure@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "embeddable query VM")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL core dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)

set(CPACK_DEBIAN_CORE_PACKAGE_NAME pure)
set(CPACK_DEBIAN_CORE_PACKAGE_SECTION database)
set(CPACK_DEBIAN_CORE_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CORE_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_CORE_PACKAGE_RECOMMENDS pure-jit)
set(CPACK_COMPONENT_CORE_DESCRIPTION
    "embeddable query VM\n Pure compiles programs of lists, queries and events to verified bytecode\n and runs them. This package has the library and the programs pure-run and pure-serve.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libpure-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "pure (= ${PROJECT_VERSION}), libxxhash-dev, libffi-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "embeddable query VM: development files\n Headers, the static library, and files for CMake and pkg-config.")

if(TARGET pure_llvmjit)
  list(APPEND CPACK_COMPONENTS_ALL jit)
endif()
set(CPACK_DEBIAN_JIT_PACKAGE_NAME pure-jit)
set(CPACK_DEBIAN_JIT_PACKAGE_SECTION database)
set(CPACK_DEBIAN_JIT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_JIT_PACKAGE_DEPENDS "pure (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_JIT_DESCRIPTION
    "embeddable query VM: compiled tiers\n The plug-in with which Pure compiles hot loops to machine code by LLVM.\n Without it everything runs on the interpreter.")
include(CPack)
