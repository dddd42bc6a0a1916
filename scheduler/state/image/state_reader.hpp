#pragma once
// Makes a state from an image. Each part restores what only it knows. The rows of jobs and pods,
// whose structs belong to several parts, are written here as a whole, and nowhere else.
//
// Lifecycle: one for each image that ClusterState reads, into a new state.

#include "scheduler/base/result.hpp"
#include "scheduler/state/cluster_state.hpp"
#include "scheduler/state/image/image.hpp"

namespace gpuctl {

class StateReader {
public:
    StateReader(ClusterState& state, StateImage& image, Key<ClusterState>)
        : state_(state), image_(image) {}

    // An error: the image is damaged, and the state is not to be used.
    Result<bool> read();

private:
    Result<bool> read_policy_and_notes();
    Result<bool> read_nodes();
    Result<bool> read_jobs();
    Result<bool> read_pods();
    bool read_seat(const PodImage& seat);
    void read_reservations();
    void settle_jobs();
    void read_refusals();
    Result<bool> read_ended_jobs();
    Result<bool> read_usage();

    ClusterState& state_;
    StateImage& image_;
};

}  // namespace gpuctl
