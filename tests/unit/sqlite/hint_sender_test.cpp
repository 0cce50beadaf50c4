// SPDX-License-Identifier: BSL-1.0
// Hints to many inboxes, to full ones and to those that are gone.
#include "sqlite/side_folder.hpp"
#include "sqlite/sockets.hpp"
#include "store/sqlite/hint_sender.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace mortise::test::hint_sender_test {
namespace {

using sqlite_detail::session_sockets;
using store_detail::hint;
using store_detail::hint_sender;

class HintSender : public testing::Test {
protected:
    session_sockets box(std::uint64_t nonce) { return sqlite_detail::make_sockets(side, nonce); }

    static std::optional<hint> received(const session_sockets& box) {
        std::array<std::byte, store_detail::hint_bytes + 1> datagram;
        const auto got = ::recv(box.inbox.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
        if (got < 0)
            return std::nullopt;
        return store_detail::decode(std::span(datagram).first(static_cast<std::size_t>(got)));
    }

    static std::size_t descriptors() {
        const std::filesystem::directory_iterator all("/proc/self/fd");
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

    static hint about(request_id id) { return {hint::kind::granted, 7, id}; }

    store_folder folder;
    sqlite_detail::side_folder side{folder.database().string()};
    hint_sender sender{side};
};

TEST_F(HintSender, ReachesMoreThanItStaysConnectedTo) {
    constexpr std::uint64_t count = 2 * hint_sender::connections_max + 1;
    std::vector<session_sockets> boxes;
    for (std::uint64_t nonce = 0; nonce < count; ++nonce)
        boxes.push_back(box(nonce));
    const std::size_t before = descriptors();
    for (request_id round = 1; round <= 3; ++round) {
        for (std::uint64_t nonce = 0; nonce < count; ++nonce)
            EXPECT_TRUE(sender.send(side, nonce, about(round)));
        for (const auto& each : boxes)
            EXPECT_EQ(received(each), about(round));
    }
    EXPECT_EQ(descriptors(), before + hint_sender::connections_max);
}

TEST_F(HintSender, SaysThatAnInboxIsFullAndGoesOnWhenItIsNot) {
    const auto full = box(1);
    const auto other = box(2);
    int sent = 0;
    while (sent < 100'000 && sender.send(side, 1, about(1)))
        ++sent;
    ASSERT_LT(sent, 100'000);
    EXPECT_TRUE(sender.send(side, 2, about(2))) << "this one has read all that it got";
    EXPECT_EQ(received(other), about(2));
    while (received(full))
        --sent;
    EXPECT_EQ(sent, 0) << "all that was sent has arrived";
    EXPECT_TRUE(sender.send(side, 1, about(3)));
    EXPECT_EQ(received(full), about(3));
}

TEST_F(HintSender, ForgetsAnInboxThatIsGone) {
    const std::size_t before = descriptors();
    {
        const auto there = box(1);
        EXPECT_TRUE(sender.send(side, 1, about(1)));
        EXPECT_EQ(received(there), about(1));
    }
    sqlite_detail::remove_sockets(side, 1);
    EXPECT_TRUE(sender.send(side, 1, about(2))) << "lost, as every hint may be";
    EXPECT_TRUE(sender.send(side, 1, about(3)));
    EXPECT_TRUE(sender.send(side, 9, about(4))) << "one that never was";
    EXPECT_EQ(descriptors(), before);
    const auto again = box(1);
    EXPECT_TRUE(sender.send(side, 1, about(5)));
    EXPECT_EQ(received(again), about(5));
}

// In a child, whose limits nobody else has to bear.
TEST_F(HintSender, SendsWhenThereAreNoDescriptorsLeft) {
    const auto there = box(1);
    EXPECT_TRUE(in_dying_child([&] {
        rlimit none{};
        none.rlim_cur = none.rlim_max = 0;
        ::setrlimit(RLIMIT_NOFILE, &none);
        return !sqlite_detail::make_socket(SOCK_DGRAM) && sender.send(side, 1, about(1)) &&
               received(there) == about(1);
    }));
}

}  // namespace
}  // namespace mortise::test::hint_sender_test
