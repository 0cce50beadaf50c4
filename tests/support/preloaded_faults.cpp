// SPDX-License-Identifier: BSL-1.0
// A library that tests load into a server (LD_PRELOAD): its clock is then set forward or back, and
// its disk is full, as a shared file says. See server_faults.hpp.
//
// It has no sanitizer, since the server has none, and calls nothing that calls back into it.
#include "support/preloaded_faults.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

using mortise::test::preloaded_faults;

constexpr std::int64_t nanoseconds = 1'000'000'000;

const preloaded_faults* faults() noexcept {
    static const preloaded_faults* const mapped = []() -> const preloaded_faults* {
        const char* const path = std::getenv(mortise::test::faults_variable);
        const int file = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (file < 0)
            return nullptr;
        void* const at = ::mmap(nullptr, sizeof(preloaded_faults), PROT_READ, MAP_SHARED, file, 0);
        ::close(file);
        return at == MAP_FAILED ? nullptr : static_cast<const preloaded_faults*>(at);
    }();
    return mapped;
}

std::int64_t ahead_ns() noexcept {
    return faults() != nullptr ? faults()->clock_ahead_us.load() * 1'000 : 0;
}

timespec shifted(const timespec& time, std::int64_t by) noexcept {
    const std::int64_t sum = time.tv_sec * nanoseconds + time.tv_nsec + by;
    return {sum / nanoseconds, sum % nanoseconds};
}

template <class Function>
Function real(const char* name, const char* version = nullptr) noexcept {
    void* found = version != nullptr ? ::dlvsym(RTLD_NEXT, name, version) : nullptr;
    if (found == nullptr)
        found = ::dlsym(RTLD_NEXT, name);
    return reinterpret_cast<Function>(found);
}

// Whether a write to these bytes would make a file of the data longer while its disk is full. The
// logs that are written ahead of the data count as on another disk, as they often are.
bool has_no_room(int file, off_t end) noexcept {
    if (faults() == nullptr || !faults()->disk_is_full.load() || file <= STDERR_FILENO)
        return false;
    struct stat facts {};
    if (::fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) || end <= facts.st_size)
        return false;
    char link[64];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    char path[512] = {};
    if (::readlink(link, path, sizeof path - 1) < 0)
        return false;
    for (const char* const elsewhere : {"/pg_wal/", "/ib_logfile", "/aria_log"}) {
        if (std::strstr(path, elsewhere) != nullptr)
            return false;
    }
    return true;
}

off_t length_of(const iovec* parts, int count) noexcept {
    off_t sum = 0;
    for (int i = 0; i < count; ++i)
        sum += static_cast<off_t>(parts[i].iov_len);
    return sum;
}

}  // namespace

// What a program calls, under the names that it calls.
extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
    static const auto next = real<int (*)(clockid_t, timespec*)>("clock_gettime");
    const int result = next(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        *time = shifted(*time, ahead_ns());
    return result;
}

int gettimeofday(timeval* time, void*) noexcept {
    timespec now{};
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    *time = {now.tv_sec, now.tv_nsec / 1'000};
    return result;
}

time_t time(time_t* seconds) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (seconds != nullptr)
        *seconds = now.tv_sec;
    return now.tv_sec;
}

// Until a time of the clock as it seems: the kernel has the real one. Java's virtual machine waits
// by the monotonic clock, which is left alone; the C library tells which clock it is nowhere but in
// this bit.
int pthread_cond_timedwait(
    pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until
) {
    using wait = int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
    static const auto next = real<wait>("pthread_cond_timedwait", "GLIBC_2.3.2");
    constexpr unsigned monotonic_bit = 2;
    const bool monotonic = (condition->__data.__wrefs & monotonic_bit) != 0;
    const timespec kernels = shifted(*until, monotonic ? 0 : -ahead_ns());
    return next(condition, mutex, &kernels);
}

ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
    static const auto next = real<decltype(&pwrite64)>("pwrite64");
    if (has_no_room(file, at + static_cast<off_t>(size))) {
        errno = ENOSPC;
        return -1;
    }
    return next(file, bytes, size, at);
}

ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
    return pwrite64(file, bytes, size, at);
}

ssize_t pwritev(int file, const iovec* parts, int count, off_t at) {
    static const auto next = real<decltype(&pwritev)>("pwritev");
    if (has_no_room(file, at + length_of(parts, count))) {
        errno = ENOSPC;
        return -1;
    }
    return next(file, parts, count, at);
}

ssize_t write(int file, const void* bytes, size_t size) {
    static const auto next = real<decltype(&write)>("write");
    if (const off_t at = ::lseek(file, 0, SEEK_CUR);
        at >= 0 && has_no_room(file, at + static_cast<off_t>(size))) {
        errno = ENOSPC;
        return -1;
    }
    return next(file, bytes, size);
}

int posix_fallocate(int file, off_t at, off_t size) {
    static const auto next = real<decltype(&posix_fallocate)>("posix_fallocate");
    return has_no_room(file, at + size) ? ENOSPC : next(file, at, size);
}

int fallocate64(int file, int mode, off64_t at, off64_t size) {
    static const auto next = real<decltype(&fallocate64)>("fallocate64");
    if (has_no_room(file, at + size)) {
        errno = ENOSPC;
        return -1;
    }
    return next(file, mode, at, size);
}

}  // extern "C"
