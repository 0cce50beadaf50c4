// SPDX-License-Identifier: BSL-1.0
#include "support/server_faults.hpp"

#include "support/built_program.hpp"
#include "support/preloaded_faults.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

namespace mortise::test {
namespace {

constexpr const char* library = "faults.so";
constexpr const char* shared_file = "faults";

}  // namespace

// The library is copied to where the server's account can read it.
server_faults::server_faults(const prepared_data& data) : server_faults(data.folder()) {
    data.give(folder_ / library);
    data.give(folder_ / shared_file);
}

server_faults::server_faults(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::copy_file(built_program("tests/preloaded_faults.so"), folder_ / library);
    const auto path = folder_ / shared_file;
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    void* at = MAP_FAILED;
    if (file >= 0 && ::ftruncate(file, sizeof(preloaded_faults)) == 0)
        at = ::mmap(nullptr, sizeof(preloaded_faults), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int reason = errno;
    if (file >= 0)
        ::close(file);
    if (at == MAP_FAILED)
        throw std::system_error(reason, std::generic_category(), path.string());
    shared_ = new (at) preloaded_faults();
}

server_faults::~server_faults() {
    ::munmap(shared_, sizeof(preloaded_faults));
}

std::vector<std::string> server_faults::with_library(std::vector<std::string> command) const {
    std::vector<std::string> all = {
        "env",
        "LD_PRELOAD=" + (folder_ / library).string(),
        std::string(faults_variable) + "=" + (folder_ / shared_file).string()};
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

void server_faults::step_clock(std::chrono::microseconds by) {
    shared_->clock_ahead_us += by.count();
}

void server_faults::fill_disk(bool full) {
    shared_->disk_is_full = full;
}

}  // namespace mortise::test
