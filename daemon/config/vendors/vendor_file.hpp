#pragma once
// The table of GPU vendors as a file (config/vendors.yaml): written from the built-in table, and
// read in its place where names.vendorsFile has one (docs/adr/0045-vendors-as-data.md).

#include <deque>
#include <string>
#include <string_view>

#include "scheduler/base/result.hpp"
#include "scheduler/model/gpu/gpu_vendor.hpp"

namespace gpuctl::config {

// The file of this table, each key with its meaning.
std::string print_vendors(const GpuVendorTable& table);

// `texts` owns what the rows show. InvalidConfiguration with file, line and column.
Result<GpuVendorTable> read_vendors(std::string_view yaml, const std::string& file,
                                    std::deque<std::string>& texts);

// Reads the file and puts its table in place of the built-in one, for the whole process. Only the
// first call does; a reload that names another file is refused elsewhere (check_reloadable).
// "": the built-in table.
Result<void> use_vendors_file_once(const std::string& path);

}  // namespace gpuctl::config
