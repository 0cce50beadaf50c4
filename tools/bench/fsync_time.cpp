// SPDX-License-Identifier: BSL-1.0
#include "bench/interruption.hpp"
#include "bench/measure.hpp"
#include "bench/passing_file.hpp"
#include "failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/detail/unique_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace mortise::tool {
namespace {

constexpr std::size_t samples = 400;
constexpr std::size_t warm_up_samples = 20;

}  // namespace

double fsync_us(const std::filesystem::path& folder) {
    const passing_file file(folder / ("mortise-bench-" + std::to_string(::getpid()) + ".append"));
    const detail::unique_fd opened(
        ::open(file.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600)
    );
    if (opened.get() < 0)
        throw failure::of_errno("no file can be made: " + file.path().native());
    constexpr std::array<char, 4'096> page{};
    std::vector<double> took;
    for (std::size_t i = 0; i < warm_up_samples + samples; ++i) {
        interruption::check();
        if (::write(opened.get(), page.data(), page.size()) != ssize_t{page.size()})
            throw failure::of_errno("it cannot be written: " + file.path().native());
        const auto begin = clock::now();
        if (::fdatasync(opened.get()) != 0)
            throw failure::of_errno("it cannot be synced: " + file.path().native());
        const std::chrono::duration<double, std::micro> passed = clock::now() - begin;
        if (i >= warm_up_samples)
            took.push_back(passed.count());
    }
    const auto middle = took.begin() + samples / 2;
    std::nth_element(took.begin(), middle, took.end());
    return *middle;
}

}  // namespace mortise::tool
