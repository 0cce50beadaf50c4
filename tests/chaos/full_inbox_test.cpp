// SPDX-License-Identifier: BSL-1.0
// A stopped waiter whose inbox is full.

#include "chaos/chaos_test.hpp"
#include "mortise/coro/clock.hpp"
#include "support/eventually.hpp"
#include "support/machine_delay.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <set>
#include <string>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

class FullInbox : public chaos_test {
protected:
    std::set<std::string> inboxes() const {
        std::set<std::string> found;
        for (const auto& each : std::filesystem::directory_iterator(folder / "locks.db.mortise")) {
            if (each.path().extension() == ".d")
                found.insert(each.path());
        }
        return found;
    }

    /// The inbox of the session that came after the known ones.
    std::string inbox_besides(const std::set<std::string>& known) const {
        std::string found;
        const bool arrived = eventually([&] {
            for (const auto& each : inboxes()) {
                if (!known.contains(each))
                    found = each;
            }
            return !found.empty();
        });
        EXPECT_TRUE(arrived) << "nobody has come";
        return found;
    }

    /// Fills the inbox until the kernel accepts nothing more from any sender. Its owner must be
    /// stopped.
    static void fill(const std::string& box) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        ASSERT_LT(box.size(), sizeof address.sun_path);
        box.copy(address.sun_path, sizeof address.sun_path - 1);
        const auto* const to = reinterpret_cast<const sockaddr*>(&address);
        bool full = false;
        for (int sender = 0; sender < 100 && !full; ++sender) {
            const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            int sent = 0;
            while (::sendto(fd, "x", 1, 0, to, sizeof address) == 1)
                ++sent;
            EXPECT_EQ(errno, EAGAIN);
            ::close(fd);
            full = sent == 0;
        }
        EXPECT_TRUE(full);
    }
};

TEST_F(FullInbox, HoldsUpNobodyElseAndTheWaiterFindsItsGrantByLooking) {
    const auto holder = start(12s);
    holder->acquire("door");
    holder->acquire("window");
    const auto other = start(12s);
    other->tell("acquire window");
    queued("window", 2);
    const auto known = inboxes();
    const auto waiter = start(12s);
    waiter->tell("acquire door");
    const auto box = inbox_besides(known);
    queued("door", 2);
    const auto last = start(12s);
    last->tell("acquire door");
    queued("door", 3);
    waiter->send(SIGSTOP);
    fill(box);
    const machine_delay delay;
    const auto begun = clock::now().time_since_epoch().count();
    holder->tell("release door");
    holder->tell("release window");
    ASSERT_TRUE(holder->hear("released door"));
    ASSERT_TRUE(holder->hear("released window"));
    ASSERT_TRUE(other->hear("held window"));
    const double took_ms = ms_since(begun);
    RecordProperty("others_ms", std::to_string(took_ms));
    EXPECT_LT(took_ms, 1'000 + delay.so_far().count()) << "somebody waited for the full inbox";
    EXPECT_FALSE(last->hear("held door", 200ms)) << "the lock is the stopped one's";
    const auto woken = clock::now().time_since_epoch().count();
    waiter->send(SIGCONT);
    const auto line = waiter->hear("held door");
    ASSERT_TRUE(line);
    const double look_ms = static_cast<double>(time_in(*line) - woken) / 1e6;
    RecordProperty("look_ms", std::to_string(look_ms));
    EXPECT_LT(look_ms, 1'000 + delay.so_far().count()) << "that was a heartbeat";
    waiter->tell("release door");
    EXPECT_TRUE(last->hear("held door", 2s));
}

TEST_F(FullInbox, AHolderThatIsStoppedForTooLongLearnsOfItsLossByLooking) {
    const auto next = start(1s);
    next->acquire("window");
    const auto known = inboxes();
    const auto holder = start(1s);
    const auto first = holder->acquire("door");
    next->tell("acquire door");
    queued("door", 2);
    holder->send(SIGSTOP);
    fill(inbox_besides(known));
    const auto line = next->hear("held door", 5s);
    ASSERT_TRUE(line) << "its loss could not be told, and nobody got the lock";
    EXPECT_GT(token_in(*line), first);
    holder->send(SIGCONT);
    EXPECT_TRUE(holder->hear("lost door", 2s));
    // Its window ended while it was stopped. It learns by a look that another client has the lock.
    const bool found = eventually([&] {
        holder->tell("state door");
        return holder->hear("state door") == "state door lost";
    });
    EXPECT_TRUE(found);
    holder->tell("acquire door");
    queued("door", 2);
    next->tell("release door");
    EXPECT_TRUE(holder->hear("held door", 2s)) << "its new session cannot be reached";
}

}  // namespace
}  // namespace mortise::test
