// SPDX-License-Identifier: BSL-1.0
// The death of a process on the same host, as its neighbours see it.
#include "mortise/coro/clock.hpp"
#include "store/life/host_watch.hpp"

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace mortise::test::host_watch_test {
namespace {

using namespace std::chrono_literals;
using store_detail::host_neighbour;
using store_detail::host_watch;
using keys = std::vector<core::session_key>;

/// A process that listens for a session, and does nothing else.
class other_process {
public:
    explicit other_process(const session_id& session) {
        std::array<int, 2> ready{};
        EXPECT_EQ(::pipe(ready.data()), 0);
        id_ = ::fork();
        if (id_ == 0) {
            asio::io_context context;
            host_watch own(context.get_executor(), [](core::session_key) {});
            own.open(session);
            static_cast<void>(::write(ready[1], "r", 1));
            for (;;)
                ::pause();
        }
        char byte = 0;
        EXPECT_EQ(::read(ready[0], &byte, 1), 1);
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~other_process() { kill(); }
    other_process(const other_process&) = delete;
    other_process& operator=(const other_process&) = delete;

    void send(int signal) const { EXPECT_EQ(::kill(id_, signal), 0); }
    void kill() {
        if (id_ <= 0)
            return;
        send(SIGKILL);
        ::waitpid(std::exchange(id_, 0), nullptr, 0);
    }

private:
    pid_t id_ = 0;
};

class HostWatch : public testing::Test {
protected:
    std::unique_ptr<host_watch> session(const session_id& id) {
        auto watcher =
            std::make_unique<host_watch>(context_.get_executor(), [this](core::session_key key) {
                silent.push_back(key);
            });
        watcher->open(id);
        return watcher;
    }

    bool run_until(const std::function<bool()>& done, std::chrono::milliseconds limit = 10s) {
        const auto end = clock::now() + limit;
        context_.restart();
        while (!done() && clock::now() < end)
            context_.run_one_for(20ms);
        return done();
    }
    bool nothing_happens() {
        return !run_until([&] { return !silent.empty(); }, 50ms);
    }

private:
    asio::io_context context_;

protected:
    keys silent;
    const session_id alice = random_id::draw();
    const session_id bob = random_id::draw();
    const std::unique_ptr<host_watch> own = session(alice);
};

TEST_F(HostWatch, TheDeathOfAProcessIsSeenAtOnce) {
    other_process other(bob);
    own->look({{7, bob}});
    EXPECT_TRUE(nothing_happens());
    other.kill();
    EXPECT_TRUE(run_until([&] { return silent == keys{7}; }));
    own->look({{7, bob}});  // Nobody is there any more: that proves nothing.
    EXPECT_TRUE(run_until([&] { return silent == keys{7}; }, 50ms));
}

TEST_F(HostWatch, AProcessThatIsStoppedLives) {
    other_process other(bob);
    own->look({{7, bob}});
    other.send(SIGSTOP);
    EXPECT_TRUE(nothing_happens());
    other.send(SIGCONT);
    EXPECT_TRUE(nothing_happens());
}

TEST_F(HostWatch, ANeighbourThatCannotBeReachedIsNotDead) {
    own->look({{7, bob}});
    EXPECT_TRUE(nothing_happens());
}

TEST_F(HostWatch, WhoIsNoNeighbourAnyMoreIsNotWatched) {
    auto other = session(bob);
    own->look({{7, bob}});
    own->look({});
    other.reset();
    EXPECT_TRUE(nothing_happens());
}

TEST_F(HostWatch, ASessionThatIsReplacedIsLetGo) {
    const auto other = session(bob);
    own->look({{7, bob}});
    EXPECT_TRUE(nothing_happens());
    other->open(random_id::draw());
    EXPECT_TRUE(run_until([&] { return silent == keys{7}; }));
}

// A session with as many neighbours as it has room for goes on when some of them have gone.
TEST_F(HostWatch, CrowdsAreServedInTurn) {
    constexpr std::size_t guests = 300;
    std::vector<std::unique_ptr<host_watch>> others;
    for (std::size_t i = 0; i < guests; ++i) {
        others.push_back(session(random_id::draw()));
        others.back()->look({{i + 1, alice}});
        nothing_happens();
    }
    own->open(bob);
    EXPECT_TRUE(run_until([&] { return silent.size() == guests; })) << silent.size();
}

// The watcher may be destroyed by what it tells.
TEST_F(HostWatch, MayEndWhileItTells) {
    auto other = session(bob);
    asio::io_context context;
    std::optional<host_watch> mine;
    mine.emplace(context.get_executor(), [&](core::session_key) { mine.reset(); });
    mine->open(random_id::draw());
    mine->look({{7, bob}});
    other.reset();
    while (mine && context.run_one_for(10s) != 0) {
    }
    EXPECT_FALSE(mine);
}

}  // namespace
}  // namespace mortise::test::host_watch_test
