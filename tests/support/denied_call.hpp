// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_DENIED_CALL_HPP
#define MORTISE_TESTS_SUPPORT_DENIED_CALL_HPP

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mortise::test {

/// A system call that must fail as if no file descriptor were left.
///
/// A real limit would do the same to the sanitizers, which need descriptors themselves to check
/// objects.
struct denied_call {
    long number;                            ///< SYS_openat, SYS_socket, ...
    std::optional<std::uint32_t> third{};   ///< Only with this third argument: the flags of openat.
    std::optional<std::uint32_t> fourth{};  ///< And this fourth: the mode of a file that is made.
};

/// Denies the call from now on, for this thread and all that it starts. In a child only: it cannot
/// be undone.
/// @return whether that is permitted here.
inline bool deny(const denied_call& call) {
    const auto field = [](std::size_t offset) {
        return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
    };
    const auto argument = [&](std::size_t index) {
        return field(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
    };
    std::vector<sock_filter> steps{field(offsetof(seccomp_data, nr))};
    const auto require = [&](std::uint32_t value) {
        steps.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0));
    };
    require(static_cast<std::uint32_t>(call.number));
    if (call.third) {
        steps.push_back(argument(2));
        require(*call.third);
    }
    if (call.fourth) {
        steps.push_back(argument(3));
        require(*call.fourth);
    }
    steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE));
    steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    for (std::size_t at = 0; at < steps.size(); ++at) {
        if (steps[at].code == (BPF_JMP | BPF_JEQ | BPF_K))
            steps[at].jf = static_cast<std::uint8_t>(steps.size() - at - 2);
    }
    sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace mortise::test

#endif
