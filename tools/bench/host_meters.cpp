// SPDX-License-Identifier: BSL-1.0
#include "bench/host_meters.hpp"

#include "bench/bench_files.hpp"
#include "bench/run_control.hpp"
#include "common/exit_code.hpp"
#include "common/failure.hpp"
#include "mortise/coro/clock.hpp"
#include "mortise/detail/unique_fd.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <new>
#include <string>
#include <vector>

namespace mortise::tool {
namespace {

/// A header before the real file, in the one block of memory that SQLite allocates for both.
struct counted_file {
    sqlite3_file base;
    std::atomic<std::uint64_t>* count;
};
constexpr int real_offset = (sizeof(counted_file) + 15) / 16 * 16;

sqlite3_file* real_of(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + real_offset);
}

/// Forwards a method to the real file.
template <auto Method>
struct forward;
template <
    class Result,
    class... Args,
    Result (*sqlite3_io_methods::*Method)(sqlite3_file*, Args...)>
struct forward<Method> {
    static Result call(sqlite3_file* file, Args... args) {
        sqlite3_file* const real = real_of(file);
        return (real->pMethods->*Method)(real, args...);
    }
};

int sync(sqlite3_file* file, int flags) {
    ++*reinterpret_cast<counted_file*>(file)->count;
    return forward<&sqlite3_io_methods::xSync>::call(file, flags);
}

const sqlite3_io_methods methods = {
    3,
    forward<&sqlite3_io_methods::xClose>::call,
    forward<&sqlite3_io_methods::xRead>::call,
    forward<&sqlite3_io_methods::xWrite>::call,
    forward<&sqlite3_io_methods::xTruncate>::call,
    sync,
    forward<&sqlite3_io_methods::xFileSize>::call,
    forward<&sqlite3_io_methods::xLock>::call,
    forward<&sqlite3_io_methods::xUnlock>::call,
    forward<&sqlite3_io_methods::xCheckReservedLock>::call,
    forward<&sqlite3_io_methods::xFileControl>::call,
    forward<&sqlite3_io_methods::xSectorSize>::call,
    forward<&sqlite3_io_methods::xDeviceCharacteristics>::call,
    forward<&sqlite3_io_methods::xShmMap>::call,
    forward<&sqlite3_io_methods::xShmLock>::call,
    forward<&sqlite3_io_methods::xShmBarrier>::call,
    forward<&sqlite3_io_methods::xShmUnmap>::call,
    forward<&sqlite3_io_methods::xFetch>::call,
    forward<&sqlite3_io_methods::xUnfetch>::call,
};

sqlite3_vfs* real_layer = nullptr;

int open(sqlite3_vfs* layer, const char* path, sqlite3_file* file, int flags, int* out) {
    auto* const self = new (file) counted_file{};
    self->count = static_cast<std::atomic<std::uint64_t>*>(layer->pAppData);
    const int code = real_layer->xOpen(real_layer, path, real_of(file), flags, out);
    self->base.pMethods = code == SQLITE_OK ? &methods : nullptr;
    return code;
}

}  // namespace

sync_count::sync_count() : count_(std::make_unique<std::atomic<std::uint64_t>>(0)) {
    real_layer = ::sqlite3_vfs_find(nullptr);
    if (real_layer == nullptr)
        throw failure(exit_code::internal, "SQLite has no file system layer");
    layer_ = std::make_unique<sqlite3_vfs>(*real_layer);
    layer_->zName = "mortise-bench-count";
    layer_->szOsFile = real_offset + real_layer->szOsFile;
    layer_->pAppData = count_.get();
    layer_->xOpen = open;
    layer_->pNext = nullptr;
    if (::sqlite3_vfs_register(layer_.get(), 1) != SQLITE_OK)
        throw failure(exit_code::internal, "SQLite refuses a file system layer");
}

sync_count::~sync_count() {
    ::sqlite3_vfs_unregister(layer_.get());
    ::sqlite3_vfs_register(real_layer, 1);
}

namespace {

/// Reads a line of /proc/self/status that counts kilobytes.
std::optional<std::uint64_t> bytes_of(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::uint64_t count = 0;
        if (word == key && status >> count)
            return count * 1'024;
    }
    return std::nullopt;
}

}  // namespace

peak_memory::peak_memory() {
    ::malloc_trim(0);
    std::ofstream reset("/proc/self/clear_refs");
    reset << '5' << std::flush;  // resets the peak
    if (reset)
        before_ = bytes_of("VmRSS:");
}

std::optional<std::uint64_t> peak_memory::growth_bytes() const {
    const auto most = bytes_of("VmHWM:");
    if (!before_ || !most)
        return std::nullopt;
    return *most > *before_ ? *most - *before_ : 0;
}

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
