// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_DEAF_INBOXES_HPP
#define MORTISE_TESTS_SUPPORT_DEAF_INBOXES_HPP

#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>

namespace mortise::test {

/// Calls `action(descriptor)` for each named datagram socket of this process that has a `wanted`
/// name.
/// @return the number of these sockets
inline std::size_t for_each_inbox(
    const std::function<bool(const std::string&)>& wanted, const std::function<void(int)>& action
) {
    std::size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
        const int fd = std::stoi(each.path().filename());
        sockaddr_un name{};
        socklen_t size = sizeof name;
        int type = 0;
        socklen_t type_size = sizeof type;
        if (::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0 ||
            name.sun_family != AF_UNIX || size <= offsetof(sockaddr_un, sun_path) ||
            ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0 || type != SOCK_DGRAM ||
            !wanted(name.sun_path))
            continue;
        action(fd);
        ++count;
    }
    return count;
}

/// Makes the kernel drop every datagram to those sockets from now on; their senders see no
/// difference.
/// @return how many sockets these are. @throws std::system_error
inline std::size_t deafen_inboxes(const std::function<bool(const std::string&)>& wanted) {
    return for_each_inbox(wanted, [](int fd) {
        sock_filter drop_all{BPF_RET | BPF_K, 0, 0, 0};
        const sock_fprog program{1, &drop_all};
        if (::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) != 0)
            throw std::system_error(errno, std::generic_category(), "SO_ATTACH_FILTER");
    });
}

/// Makes those sockets hear again. @return how many had been deaf.
inline std::size_t heal_inboxes(const std::function<bool(const std::string&)>& wanted) {
    std::size_t healed = 0;
    for_each_inbox(wanted, [&healed](int fd) {
        const int unused = 0;
        healed += ::setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof unused) == 0;
    });
    return healed;
}

}  // namespace mortise::test

#endif
