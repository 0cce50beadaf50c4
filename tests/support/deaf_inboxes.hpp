// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_DEAF_INBOXES_HPP
#define MORTISE_TESTS_SUPPORT_DEAF_INBOXES_HPP

#include <gtest/gtest.h>

#include <linux/filter.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace mortise::test {

/// From now on the kernel drops every datagram to those of this process's named sockets for which
/// `wanted(name)`; their senders see no difference. @return how many sockets these are.
inline std::size_t deafen_inboxes(const std::function<bool(const std::string&)>& wanted) {
    sock_filter drop_all{BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog program{1, &drop_all};
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
        EXPECT_EQ(::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
        ++count;
    }
    return count;
}

}  // namespace mortise::test

#endif
