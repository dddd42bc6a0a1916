#pragma once
// Copies between rows and images: every member of an image that a row has, too.

#include "scheduler/state/image/image.hpp"
#include "scheduler/state/rows.hpp"

namespace gpuctl {

void copy_row(const JobRow& row, JobImage& image);
void copy_row(const PodRow& row, PodImage& image);
void copy_image(const JobImage& image, JobRow& row);
void copy_image(const PodImage& image, PodRow& row);

}  // namespace gpuctl
