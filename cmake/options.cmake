# What every target is compiled with. Rules live here; CMakeLists.txt only names targets.

set(GPUCTL_SANITIZER "" CACHE STRING "empty, asan-ubsan or tsan")
option(GPUCTL_WERROR "treat warnings as errors" ON)
option(GPUCTL_TESTS "build tests and benches" ON)

add_library(gpuctl_options INTERFACE)
target_compile_features(gpuctl_options INTERFACE cxx_std_20)

target_compile_options(gpuctl_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Woverloaded-virtual -Wimplicit-fallthrough -Werror=switch -Werror=return-type
  $<$<BOOL:${GPUCTL_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside its own and Boost's headers once optimised; clang checks the same.
  target_compile_options(gpuctl_options INTERFACE
    -Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-stringop-overflow -Wno-array-bounds
    -Wno-restrict -Wno-stringop-overread -Wno-free-nonheap-object
    # Asio's coroutine frames have an operator new and delete of their own, inlined unevenly at -O2.
    -Wno-mismatched-new-delete)
  # The compiler spends an eighth to a fifth of its time collecting its own garbage unless it may use
  # some 300 MiB more.
  add_compile_options(--param=ggc-min-expand=200 --param=ggc-min-heapsize=1000000)
else()
  # libstdc++ 12 uses in its own stable_sort what it declares deprecated; g++ checks our uses.
  target_compile_options(gpuctl_options INTERFACE -Wno-deprecated-declarations)
endif()

# Asio and Beast are compiled once (aio/asio_impl.cpp, net/transport/beast_impl.cpp).
target_compile_definitions(gpuctl_options INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
  BOOST_ASIO_DISABLE_BOOST_COROUTINE=1 BOOST_ASIO_HAS_CO_AWAIT=1)

# Hardening (ecosystem.md 3.1). _FORTIFY_SOURCE needs optimisation and disturbs the sanitizers, which
# find what the rest guards against and would rather see a variable uninitialised than zero.
if(NOT GPUCTL_SANITIZER)
  target_compile_options(gpuctl_options INTERFACE
    -fstack-protector-strong -fstack-clash-protection -fcf-protection -ftrivial-auto-var-init=zero)
endif()
target_compile_definitions(gpuctl_options INTERFACE _GLIBCXX_ASSERTIONS)
if(NOT GPUCTL_SANITIZER AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
  target_compile_options(gpuctl_options INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
target_link_options(gpuctl_options INTERFACE -Wl,-z,relro,-z,now)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX)

if(GPUCTL_SANITIZER STREQUAL "asan-ubsan")
  # Among the first flags, so that a target can leave a check out: the last word counts.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(gpuctl_options INTERFACE -fsanitize=address,undefined)
elseif(GPUCTL_SANITIZER STREQUAL "tsan")
  # Asio fences where it also locks; g++ says that ThreadSanitizer does not model the fence.
  target_compile_options(gpuctl_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  target_compile_options(gpuctl_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(gpuctl_options INTERFACE -fsanitize=thread)
endif()

find_program(GPUCTL_CCACHE ccache)
if(GPUCTL_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${GPUCTL_CCACHE})
endif()
find_program(GPUCTL_MOLD mold)
if(GPUCTL_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
