// SPDX-License-Identifier: BSL-1.0
#include "store/sqlite/mapping_guard.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>

namespace mortise::store_detail {

/// One entry of a list that only grows, so that a signal handler can walk it at any moment. An
/// entry whose guard is gone is used again.
struct guarded_mapping {
    std::atomic<std::uintptr_t> begin = 0;  ///< Zero: in use by no guard.
    std::atomic<std::size_t> bytes = 0;
    std::atomic<bool> cut = false;
    guarded_mapping* next = nullptr;
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free, "a signal handler reads it");
static_assert(std::atomic<guarded_mapping*>::is_always_lock_free, "a signal handler reads it");

std::mutex list_mutex;
std::atomic<guarded_mapping*> list_head = nullptr;
struct sigaction handler_before {};

// Uses only calls that are safe in a signal handler; mmap is a plain system call.
bool replace_by_zeros(std::uintptr_t at) noexcept {
    for (auto* each = list_head.load(); each != nullptr; each = each->next) {
        const auto begin = each->begin.load();
        const auto bytes = each->bytes.load();
        if (begin == 0 || at < begin || at - begin >= bytes)
            continue;
        each->cut = true;
        void* const memory = reinterpret_cast<void*>(begin);
        constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        return ::mmap(memory, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
    }
    return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
    const int kept = errno;
    // A positive code means that the kernel raised it for an access, not that somebody sent it.
    const bool ours =
        info->si_code > 0 && replace_by_zeros(reinterpret_cast<std::uintptr_t>(info->si_addr));
    errno = kept;
    if (ours)
        return;
    if ((handler_before.sa_flags & SA_SIGINFO) != 0)
        return handler_before.sa_sigaction(signal, info, context);
    if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN)
        return handler_before.sa_handler(signal);
    // Does what happens without this handler: the access is repeated and ends the process; a signal
    // that was sent is sent again.
    ::signal(signal, SIG_DFL);
    if (info->si_code <= 0)
        ::raise(signal);
}

void install_handler() {
    struct sigaction action {};
    action.sa_sigaction = &on_bus_error;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &handler_before);
}

guarded_mapping* free_entry() {
    for (auto* each = list_head.load(); each != nullptr; each = each->next) {
        if (each->begin == 0)
            return each;
    }
    auto* const mapping = new guarded_mapping;  // never deleted: a handler may be looking at it
    mapping->next = list_head;
    list_head = mapping;
    return mapping;
}

}  // namespace

mapping_guard::mapping_guard(void* memory, std::size_t bytes) {
    static std::once_flag installed;
    std::call_once(installed, &install_handler);
    const std::lock_guard guard(list_mutex);
    entry_ = free_entry();
    entry_->cut = false;
    entry_->bytes = bytes;
    entry_->begin = reinterpret_cast<std::uintptr_t>(memory);
}

mapping_guard::~mapping_guard() {
    const std::lock_guard guard(list_mutex);
    entry_->begin = 0;
}

bool mapping_guard::cut() const noexcept {
    return entry_->cut;
}

}  // namespace mortise::store_detail
