// SPDX-License-Identifier: BSL-1.0
#include "chaos/actor_trap.hpp"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>

namespace mortise::test {
namespace {

std::atomic<int> writes_left{0};
std::atomic<int> signal_then{0};
const sqlite3_io_methods* real_methods = nullptr;
sqlite3_io_methods trapped_methods;

int write(sqlite3_file* file, const void* data, int size, sqlite3_int64 offset) {
    if (writes_left > 0) {
        --writes_left;
        if (writes_left == 0)
            ::raise(signal_then);
    }
    return real_methods->xWrite(file, data, size, offset);
}

// Opens a file with SQLite's own methods, except that a log gets another `xWrite`.
int open(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out) {
    sqlite3_vfs* const real = ::sqlite3_vfs_find(nullptr);
    const int code = real->xOpen(real, path, file, flags, out);
    if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL) != 0) {
        real_methods = file->pMethods;
        trapped_methods = *real_methods;
        trapped_methods.xWrite = write;
        file->pMethods = &trapped_methods;
    }
    return code;
}

}  // namespace

write_trap::write_trap() : vfs_(std::make_unique<sqlite3_vfs>(*::sqlite3_vfs_find(nullptr))) {
    vfs_->zName = name_.c_str();
    vfs_->xOpen = open;
    vfs_->pNext = nullptr;
    if (::sqlite3_vfs_register(vfs_.get(), 0) != SQLITE_OK)
        std::abort();
}

void write_trap::arm(int writes, int signal) {
    signal_then = signal;
    writes_left = writes;
}

bool die_at_the_next_send() {
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sendto, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sendmsg, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog program{sizeof steps / sizeof *steps, steps};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ==
               0;
}

}  // namespace mortise::test
