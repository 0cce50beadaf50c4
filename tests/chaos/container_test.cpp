// SPDX-License-Identifier: BSL-1.0
// Processes of one store in containers, and of another user.

#include "chaos/chaos_test.hpp"
#include "mortise/error.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>
#include <utility>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

/// Skips the test if no container can be created. An administrator must be allowed to `unshare`,
/// else the test fails. Inside another container or a chroot, mounts may be impossible even then.
#define MORTISE_NEEDS_CONTAINERS()                                                                 \
    if (const std::string why = why_no_container(); !why.empty()) {                                \
        ASSERT_FALSE(may_administer() && why.starts_with("unshare")) << why;                       \
        GTEST_SKIP() << why;                                                                       \
    }                                                                                              \
    static_cast<void>(0)

using Containers = chaos_test;

TEST_F(Containers, ExcludeEachOtherAndHandOver) {
    MORTISE_NEEDS_CONTAINERS();
    const auto outside = start(12s);
    const auto one = start(12s, actor_place::container);
    const auto other = start(12s, actor_place::container);
    const auto first = outside->acquire("door");
    one->tell("acquire door");
    queued("door", 2);
    other->tell("acquire door");
    EXPECT_FALSE(one->hear("held door", 300ms));
    EXPECT_EQ(sql("SELECT count(*) FROM session WHERE pid = 1"), 2) << "these are no containers";
    std::uint64_t last = first;
    const std::pair<actor_process*, actor_process*> steps[] = {
        {outside.get(), one.get()}, {one.get(), other.get()}};
    for (const auto& [from, to] : steps) {
        from->tell("release door");
        ASSERT_TRUE(from->hear("released door"));
        const auto line = to->hear("held door", 1s);  // by a push: a heartbeat would come later
        ASSERT_TRUE(line);
        EXPECT_GT(token_in(*line), last);
        last = token_in(*line);
    }
    outside->tell("acquire door");
    queued("door", 2);
    other->tell("release door");
    EXPECT_TRUE(outside->hear("held door", 1s));
}

TEST_F(Containers, AKilledHolderInsideIsReplacedAtOnceAndSoIsOneOutside) {
    MORTISE_NEEDS_CONTAINERS();
    for (const bool inside : {true, false}) {
        const auto here = actor_place::here;
        const auto there = actor_place::container;
        const auto holder = start(12s, inside ? there : here);
        const auto waiter = start(12s, inside ? here : there);
        const auto token = holder->acquire("door");
        waiter->tell("acquire door");
        queued("door", 2);
        const auto killed = holder->kill();
        const auto line = waiter->hear("held door", 2s);
        ASSERT_TRUE(line) << "it had to wait for the TTL";
        EXPECT_GT(token_in(*line), token);
        RecordProperty(
            inside ? "inside_ms" : "outside_ms",
            std::to_string(static_cast<double>(time_in(*line) - killed) / 1e6)
        );
        waiter->tell("stop");
        EXPECT_TRUE(waiter->hear("stopped"));
        EXPECT_TRUE(nothing_is_left());
    }
}

TEST_F(Containers, AStoppedHolderInsideIsReplacedAfterItsTtl) {
    MORTISE_NEEDS_CONTAINERS();
    const auto holder = start(3s, actor_place::container);
    const auto waiter = start(3s);
    holder->acquire("door");
    waiter->tell("acquire door");
    queued("door", 2);
    holder->send(SIGSTOP);
    EXPECT_FALSE(waiter->hear("held door", 300ms)) << "it was not dead";
    EXPECT_TRUE(waiter->hear("held door", 10s));
    holder->send(SIGCONT);
    EXPECT_TRUE(holder->hear("lost door", 2s));
}

class OtherUser : public chaos_test {
protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "only root can become another user";
    }

    /// Name, size, mode and last change of each file of the store.
    std::map<std::string, std::string> files() const {
        std::map<std::string, std::string> found;
        for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
            if (each.path() == folder / "resource.db")
                continue;  // belongs to the actors
            struct stat about {};
            EXPECT_EQ(::lstat(each.path().c_str(), &about), 0);
            found[each.path()] =
                std::to_string(about.st_size) + ' ' + std::to_string(about.st_mode) + ' ' +
                std::to_string(about.st_uid) + ' ' + std::to_string(about.st_mtim.tv_sec) + '.' +
                std::to_string(about.st_mtim.tv_nsec);
        }
        return found;
    }

    void expect_refused() {
        const auto before = files();
        const auto stranger = start(1s, actor_place::other_user);
        stranger->tell("acquire door");
        const auto refused = stranger->hear("failed door");
        ASSERT_TRUE(refused);
        EXPECT_EQ(words_of(*refused).at(2), std::to_string(static_cast<int>(errc::not_writable)));
        stranger->tell("explain");
        const std::string why = stranger->hear("explain").value_or("");
        EXPECT_NE(why.find("locks.db"), std::string::npos) << why;
        EXPECT_NE(
            why.find("use a folder that exists and that this user may write"), std::string::npos
        ) << why;
        EXPECT_EQ(files(), before);
    }
};

TEST_F(OtherUser, IsRefusedAndChangesNothing) {
    // The stranger can look at the store, and create files beside it.
    ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
    {
        const auto owner = start(1s);
        owner->acquire("door");
        owner->tell("stop");  // closed, the store does not change
        EXPECT_TRUE(owner->hear("stopped"));
    }
    std::filesystem::remove(folder / "resource.db");  // the stranger creates another one
    expect_refused();
    // The same if only the folder of the sockets, or only the database, is open to the stranger.
    ASSERT_EQ(::chmod((folder / "locks.db.mortise").c_str(), 0777), 0);
    expect_refused();
    ASSERT_EQ(::chmod((folder / "locks.db.mortise" / "lock").c_str(), 0666), 0);
    expect_refused();
    const auto owner = start(1s);
    EXPECT_GT(owner->acquire("door"), 0u) << "the store is as it was";
}

}  // namespace
}  // namespace mortise::test
