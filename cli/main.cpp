#include "cli/application.hpp"

int main(int argc, char** argv) { return gpuctl::cli::run(argc, argv); }
