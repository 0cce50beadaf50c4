// SPDX-License-Identifier: BSL-1.0
#include "bench/bench_files.hpp"

#include "common/failure.hpp"

#include <stdlib.h>

#include <string>
#include <system_error>

namespace mortise::tool {

scratch_folder::scratch_folder() {
    std::error_code failed;
    std::filesystem::path parent = std::filesystem::temp_directory_path(failed);
    if (failed)
        parent = "/tmp";
    std::string pattern = (parent / "mortise-bench-XXXXXX").native();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw failure::of_errno("no temporary folder can be made: " + pattern);
    path_ = pattern;
}

scratch_folder::~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace mortise::tool
