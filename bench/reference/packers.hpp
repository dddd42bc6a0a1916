#pragma once
// Placement rules of the papers for tasks on whole and shared GPUs. Ties go to the first node by
// name: much of FGD's gain is first fit among near equals.

#include <memory>

#include "sim/replay/packing.hpp"

namespace gpuctl::reference {

// Chooses any node that fits and any GPU that fits, with equal chances.
std::unique_ptr<replay::Packer> make_random(std::uint64_t seed);
// Chooses the node that would be left with the least CPU and GPU, and the GPU of the node that
// would be left with the least.
std::unique_ptr<replay::Packer> make_best_fit();
// Fragmentation gradient descent: chooses the spot that adds least fragmentation. Its score is
// rounded down to an integer from 0 to 100.
std::unique_ptr<replay::Packer> make_fgd(const replay::PackTrace& trace);

}  // namespace gpuctl::reference
