// SPDX-License-Identifier: BSL-1.0
// The sockets of a session: the counters, the connections held, and the meaning of an end of file.
#include "sqlite/side_folder.hpp"
#include "store/sqlite/hint_sender.hpp"
#include "store/sqlite/mailbox.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace mortise::test::mailbox_test {
namespace {

using namespace std::chrono_literals;
using sqlite_detail::probe;
using store_detail::hint;
using store_detail::mailbox;
using store_detail::neighbour;
using store_detail::neighbour_plan;

constexpr core::session_key self = 5;
constexpr std::uint64_t nonce = 0xabcdef;

class Mailbox : public testing::Test, protected store_detail::mailbox_events {
public:
    ~Mailbox() override { box->close(); }

protected:
    Mailbox() { box->open(sqlite_detail::make_sockets(side, nonce)); }

    void on_hints(const std::vector<hint>& arrived) override {
        hints.insert(hints.end(), arrived.begin(), arrived.end());
    }
    void on_silence(const neighbour& peer) override { silent.push_back(peer); }

    void settle() {
        context.restart();
        while (context.run_one_for(10ms) != 0) {
        }
    }

    void send(const hint& datagram) {
        ASSERT_TRUE(store_detail::hint_sender(side).send(side, nonce, datagram));
    }

    // Somebody else's connection to that session, to be watched from here.
    neighbour_plan watch(const neighbour& peer, probe tried) {
        neighbour_plan plan;
        plan.wanted.push_back(peer);
        plan.fresh.emplace_back();
        plan.fresh.back().peer = peer;
        plan.fresh.back().connection = std::move(tried.connection);
        return plan;
    }

    store_folder folder;
    sqlite_detail::side_folder side{folder.database().string()};
    asio::io_context context;
    std::shared_ptr<mailbox> box = std::make_shared<mailbox>(
        context.get_executor(), static_cast<store_detail::mailbox_events&>(*this), self
    );
    std::vector<hint> hints;
    std::vector<neighbour> silent;
};

TEST_F(Mailbox, TakesItsOwnHintsInOrder) {
    send({hint::kind::granted, self, 1});
    send({hint::kind::contended, self + 1, 2});  // for who had this slot before
    send({hint::kind::changed, self, 3});
    settle();
    ASSERT_EQ(hints.size(), 2u);
    EXPECT_EQ(hints[0], (hint{hint::kind::granted, self, 1}));
    EXPECT_EQ(hints[1], (hint{hint::kind::changed, self, 3}));
    EXPECT_EQ(box->malformed(), 0u);
}

TEST_F(Mailbox, CountsWhatIsNotOfOurs) {
    const auto socket = sqlite_detail::make_socket(SOCK_DGRAM);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    side.short_path(sqlite_detail::inbox_name(nonce))
        .copy(address.sun_path, sizeof address.sun_path - 1);
    for (int i = 0; i < 3; ++i)
        ::sendto(
            socket.get(), "rubbish", 7, 0, reinterpret_cast<sockaddr*>(&address), sizeof address
        );
    settle();
    EXPECT_EQ(box->malformed(), 3u);
    EXPECT_TRUE(hints.empty());
}

TEST_F(Mailbox, ListensAsLongAsItLives) {
    EXPECT_EQ(sqlite_detail::probe_life(side, nonce).result, probe::outcome::connected);
    box->close();
    EXPECT_EQ(sqlite_detail::probe_life(side, nonce).result, probe::outcome::refused);
    sqlite_detail::remove_sockets(side, nonce);
    EXPECT_EQ(sqlite_detail::probe_life(side, nonce).result, probe::outcome::unknown)
        << "a socket that is not there proves nothing";
}

TEST_F(Mailbox, HoldsItsGuestsUntilTheyGo) {
    auto guest = sqlite_detail::probe_life(side, nonce);
    settle();
    char byte = 0;
    EXPECT_EQ(::recv(guest.connection.get(), &byte, 1, MSG_DONTWAIT), -1) << "not closed";
    EXPECT_EQ(errno, EAGAIN);
    ASSERT_EQ(::send(guest.connection.get(), "?", 1, 0), 1);  // means nothing
    settle();
    EXPECT_EQ(::recv(guest.connection.get(), &byte, 1, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, EAGAIN);
    box->close();
    EXPECT_EQ(::recv(guest.connection.get(), &byte, 1, MSG_DONTWAIT), 0) << "the end of file";
}

TEST_F(Mailbox, TellsTheSilenceOfWhomItWatches) {
    const neighbour other{1, 2, 77, 4};
    auto sockets = sqlite_detail::make_sockets(side, other.nonce);
    box->apply(watch(other, sqlite_detail::probe_life(side, other.nonce)));
    EXPECT_EQ(box->watched(), std::vector<neighbour>{other});
    settle();
    EXPECT_TRUE(silent.empty());
    sockets.life.reset();
    settle();
    EXPECT_EQ(silent, std::vector<neighbour>{other});
    EXPECT_TRUE(box->watched().empty());
}

TEST_F(Mailbox, LetsGoOfWhomItNeedNotWatch) {
    const neighbour other{1, 2, 77, 4};
    auto sockets = sqlite_detail::make_sockets(side, other.nonce);
    box->apply(watch(other, sqlite_detail::probe_life(side, other.nonce)));
    box->apply(watch(other, sqlite_detail::probe_life(side, other.nonce)));
    EXPECT_EQ(box->watched().size(), 1u) << "once is enough";
    box->apply(neighbour_plan());
    EXPECT_TRUE(box->watched().empty());
    sockets.life.reset();
    settle();
    EXPECT_TRUE(silent.empty());
}

TEST_F(Mailbox, NothingIsToldAfterClose) {
    const neighbour other{1, 2, 77, 4};
    auto sockets = sqlite_detail::make_sockets(side, other.nonce);
    box->apply(watch(other, sqlite_detail::probe_life(side, other.nonce)));
    send({hint::kind::granted, self, 1});
    sockets.life.reset();
    box->close();
    settle();
    EXPECT_TRUE(hints.empty());
    EXPECT_TRUE(silent.empty());
}

}  // namespace
}  // namespace mortise::test::mailbox_test
