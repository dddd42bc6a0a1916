# Headers and the templates of containers that every file uses cost more than the code in it: five
# tests compiled as one take a quarter of their time apart. What two files of a batch both define must
# have two names, or be one thing; tools/check compiles each file alone, so none leans on its
# neighbour's includes.
option(GPUCTL_UNITY "compile several files of a target at once" ON)
function(gpuctl_compile_together target files)
  if(NOT GPUCTL_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Anonymous namespaces are in an included file then, where g++ takes them for a header's.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# Files with seeded faults are compiled together with such files only: what links objects with faults
# before the archive replaces exactly these objects of it and takes the others as they are.
function(gpuctl_keep_faults_apart target files)
  if(NOT GPUCTL_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  gpuctl_files_with_faults(with ${sources})
  set(without ${sources})
  list(REMOVE_ITEM without ${with})
  foreach(kind with without)
    set(number 0)
    foreach(source ${${kind}})
      math(EXPR group "${number} / ${files}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target}_${kind}_${group})
      math(EXPR number "${number} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# Those of the files that ask for a seeded fault, as a list in `out`. A file that gets its first fault
# needs a new configuration; before that the fault cannot be switched on, and its test fails.
function(gpuctl_files_with_faults out)
  set(with)
  foreach(source ${ARGN})
    file(STRINGS ${source} lines REGEX "has_fault\\(|ifdef GPUCTL_SEEDED_FAULTS" LIMIT_COUNT 1)
    if(lines)
      list(APPEND with ${source})
    endif()
  endforeach()
  set(${out} ${with} PARENT_SCOPE)
endfunction()

# A room is a directory with one idea, one target and one arrow list. Its headers are reachable only
# through a link tree of its own (<build>/rooms/<name>/<path> -> <source>/<path>), so including a room
# that is not linked does not compile: link visibility *is* the arrow check.
#
#   gpuctl_room(<name> <path> [FLAT] [PUBLIC rooms/libraries the headers need]
#               [PRIVATE ... the sources need] [PCH headers])
#
# Sources are all *.cpp of the directory and of those below it; FLAT: not of those below, which are
# rooms of their own. A room without sources is an interface target.
function(gpuctl_room name path)
  cmake_parse_arguments(ROOM "FLAT" "" "PUBLIC;PRIVATE;PCH;EXCLUDE" ${ARGN})
  set(tree ${CMAKE_BINARY_DIR}/rooms/${name})
  get_filename_component(parent ${path} DIRECTORY)
  file(MAKE_DIRECTORY ${tree}/${parent})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${path} ${tree}/${path} SYMBOLIC)

  if(ROOM_FLAT)
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cpp)
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${path}/*.cpp)
  endif()
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  foreach(excluded ${ROOM_EXCLUDE})
    list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/${path}/${excluded})
  endforeach()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${tree})
    target_link_libraries(${name} PUBLIC ${ROOM_PUBLIC} PRIVATE gpuctl_options ${ROOM_PRIVATE})
    target_link_libraries(${name} PUBLIC $<BUILD_INTERFACE:gpuctl_options>)
    gpuctl_compile_together(${name} 10)
    if(path MATCHES "^scheduler/")
      gpuctl_keep_faults_apart(${name} 10)
    endif()
    if(ROOM_PCH)
      target_precompile_headers(${name} PRIVATE ${ROOM_PCH})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${tree})
    target_link_libraries(${name} INTERFACE ${ROOM_PUBLIC} gpuctl_options)
  endif()
endfunction()

# GoogleTest's and RapidCheck's macros do not survive these; linked after gpuctl_options to win.
add_library(gpuctl_test_options INTERFACE)
# Of what the sanitizers add to the tests' own code a third is for two of their checks, and a null
# pointer ends a test anyway: the rooms keep both.
target_compile_options(gpuctl_test_options INTERFACE
  -fno-sanitize=null,alignment
  -Wno-pedantic -Wno-conversion -Wno-sign-conversion -Wno-shadow)

# gpuctl_test(<name> <path> LINK rooms...): every *_test.cpp below tests/<path> in one GoogleTest
# binary, registered with ctest. Test headers shared by several live in tests/support.
function(gpuctl_test name path)
  cmake_parse_arguments(TEST "" "" "LINK;ARGS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${path}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${name} PRIVATE GPUCTL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE gpuctl_options gpuctl_test_options ${TEST_LINK} GTest::gtest
    GTest::gmock GTest::gtest_main rapidcheck)
  gpuctl_compile_together(${name} 10)
  add_test(NAME ${name} COMMAND ${name} ${TEST_ARGS})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()
