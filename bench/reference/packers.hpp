#pragma once
// Placement rules of the papers for tasks on whole and shared GPUs. Ties go to the first node by
// name: much of FGD's gain is first fit among near equals.

#include <memory>

#include "sim/replay/packing.hpp"

namespace gpuctl::reference {

// Any node that fits, any GPU that fits, each as likely as another.
std::unique_ptr<replay::Packer> make_random(std::uint64_t seed);
// The node that would be left with the least CPU and GPU, and on it the GPU left with the least.
std::unique_ptr<replay::Packer> make_best_fit();
// Fragmentation gradient descent: the spot that adds least fragmentation, its score rounded down to
// a whole number of 0 to 100.
std::unique_ptr<replay::Packer> make_fgd(const replay::PackTrace& trace);

}  // namespace gpuctl::reference
