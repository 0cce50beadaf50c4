// SPDX-License-Identifier: BSL-1.0
// The SQLite store with its threads and sockets: pushes, lost and forged hints, places that move.
#include "base/as_killed.hpp"
#include "sqlite/side_folder.hpp"
#include "store/sqlite/hint_sender.hpp"
#include "support/deaf_inboxes.hpp"
#include "support/fault_vfs.hpp"
#include "unit/sqlite/store_folder.hpp"
#include "unit/sqlite/store_user.hpp"

#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace mortise::test::sqlite_store_test {
namespace {

using namespace std::chrono_literals;

class SqliteStore : public testing::Test {
protected:
    std::filesystem::path inbox() const {
        for (const auto& each : std::filesystem::directory_iterator(folder.side())) {
            if (each.path().extension() == ".d")
                return each.path();
        }
        return {};
    }

    static void send(const std::filesystem::path& to, const void* data, std::size_t size) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        to.string().copy(address.sun_path, sizeof address.sun_path - 1);
        const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ASSERT_GE(fd, 0);
        ASSERT_EQ(
            ::sendto(fd, data, size, 0, reinterpret_cast<sockaddr*>(&address), sizeof address),
            static_cast<ssize_t>(size)
        );
        ::close(fd);
    }

    store_folder folder;
    real_world world;
};

TEST_F(SqliteStore, AReleaseWakesTheNextAndTellsTheHolderOfTheWait) {
    store_user one(world, folder.config());
    store_user other(world, folder.config());
    ASSERT_EQ(one.open(), error_code());
    ASSERT_EQ(other.open(), error_code());
    ASSERT_EQ(one.ask("a").type, answer::kind::granted);
    const auto first = one.token();
    ASSERT_EQ(other.ask("a").type, answer::kind::queued);
    EXPECT_TRUE(one.hears("contended 1"));
    one.release("a", 1, first);
    EXPECT_TRUE(other.hears("granted 1"));
    EXPECT_GT(other.token().value, first.value);
    EXPECT_EQ(other.token().domain, first.domain);
    EXPECT_EQ(one.take_notices(), "");
}

TEST_F(SqliteStore, AStoreThatLetsGoWithoutAFarewellIsReplacedAtOnce) {
    store_user holder(world, folder.config());
    store_user waiter(world, folder.config());
    ASSERT_EQ(holder.open(), error_code());
    ASSERT_EQ(waiter.open(), error_code());
    ASSERT_EQ(holder.ask("a").type, answer::kind::granted);
    ASSERT_EQ(waiter.ask("a").type, answer::kind::queued);
    holder.drop();
    EXPECT_TRUE(waiter.hears("granted 1")) << "long before its TTL of thirty seconds";
    EXPECT_EQ(folder.sql("SELECT count(*) FROM session"), 1);
    EXPECT_EQ(folder.sockets(), 2u);
}

TEST_F(SqliteStore, AFullDiskIsNotAskedAgainAndAgainToBuryTheDead) {
    fault_vfs disk;
    auto config = folder.config();
    config.vfs = disk.name();
    store_user survivor(world, config);
    std::optional<store_user> victim;
    victim.emplace(world, config);
    ASSERT_EQ(survivor.open(), error_code());
    ASSERT_EQ(victim->open(), error_code());
    ASSERT_EQ(victim->ask("a").type, answer::kind::granted);
    ASSERT_EQ(survivor.ask("a").type, answer::kind::queued);
    disk.result = SQLITE_FULL;
    disk.for_good = true;
    const int before = disk.operations;
    disk.fail_at = before + 1;
    {
        const detail::as_killed no_farewell;
        victim.reset();
    }
    ASSERT_TRUE(world.until([&] { return disk.operations > before; })) << "the death is seen";
    world.until([] { return false; }, 200ms);
    EXPECT_LT(disk.operations - before, 10);
    disk.fail_at = 0;
    EXPECT_TRUE(survivor.beat());
    EXPECT_TRUE(survivor.hears("granted 1")) << "the next heartbeat tries again";
}

TEST_F(SqliteStore, EndLeavesNoSocket) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    EXPECT_EQ(folder.sockets(), 2u);
    EXPECT_EQ(world.get(user.port().end()), error_code());
    EXPECT_EQ(folder.sockets(), 0u);
    ASSERT_EQ(user.open(), error_code()) << "the same store can begin again";
    EXPECT_EQ(user.ask("a").type, answer::kind::granted);
}

TEST_F(SqliteStore, ALostDatagramIsFoundByTheNextHeartbeat) {
    store_user holder(world, folder.config());
    ASSERT_EQ(holder.open(), error_code());
    ASSERT_EQ(holder.ask("a").type, answer::kind::granted);
    const auto held = holder.token();
    const auto holders = inbox();
    store_user waiter(world, folder.config());
    ASSERT_EQ(waiter.open(), error_code());
    ASSERT_EQ(waiter.ask("a").type, answer::kind::queued);
    const auto before = waiter.beat();
    ASSERT_TRUE(before);
    EXPECT_EQ(before->requests, 1u);
    const auto waiters = [&](const std::string& name) {
        return name.ends_with(".d") && !name.ends_with(holders.filename().string());
    };
    ASSERT_EQ(deafen_inboxes(waiters), 1u);
    holder.release("a", 1, held);
    EXPECT_FALSE(waiter.hears("granted", 100ms));
    const auto after = waiter.beat();
    ASSERT_TRUE(after);
    EXPECT_NE(after->changes, before->changes);
    EXPECT_EQ(after->grants, 1u);
    EXPECT_EQ(after->requests, 0u);
    const auto seen = world.get(waiter.port().look(0));
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->changes, after->changes);
    ASSERT_EQ(seen->entries.size(), 1u);
    EXPECT_TRUE(seen->entries[0].granted);
}

TEST_F(SqliteStore, RubbishInTheInboxIsDroppedAndForgeriesGrantNothing) {
    store_user waiter(world, folder.config());
    ASSERT_EQ(waiter.open(), error_code());
    const auto box = inbox();
    store_user holder(world, folder.config());
    ASSERT_EQ(holder.open(), error_code());
    ASSERT_EQ(holder.ask("a").type, answer::kind::granted);
    const auto held = holder.token();
    ASSERT_EQ(waiter.ask("a").type, answer::kind::queued);
    send(box, "rubbish", 7);
    send(box, "", 0);
    const std::string large(60'000, 'x');
    send(box, large.data(), large.size());
    const auto key = static_cast<std::uint64_t>(folder.sql("SELECT min(key) FROM session"));
    using store_detail::hint;
    const auto forged = store_detail::encode({hint::kind::granted, key, 1});
    send(box, forged.data(), forged.size());
    const auto foreign = store_detail::encode({hint::kind::changed, key + 100, 0});
    send(box, foreign.data(), foreign.size());
    EXPECT_FALSE(waiter.hears("granted", 100ms));
    EXPECT_EQ(waiter.take_notices(), "");
    holder.release("a", 1, held);
    EXPECT_TRUE(waiter.hears("granted 1")) << "the inbox still works";
}

TEST_F(SqliteStore, AFullInboxEndsInALookAgain) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    const auto box = inbox();
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    box.string().copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ASSERT_GE(fd, 0);
    int sent = 0;
    while (sent < 100'000 &&
           ::sendto(fd, "x", 1, 0, reinterpret_cast<sockaddr*>(&address), sizeof address) == 1)
        ++sent;
    ::close(fd);
    ASSERT_LT(sent, 100'000);
    // As many as the kernel keeps for one sender; then what was turned away may have been a grant.
    EXPECT_TRUE(user.hears("look_again") || sent < 278) << sent;
}

TEST_F(SqliteStore, AStoreThatWasMovedAwayIsNoticedAndTheNextSessionBeginsAnew) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    ASSERT_EQ(user.ask("a").type, answer::kind::granted);
    const auto domain = user.token().domain;
    EXPECT_TRUE(user.beat());
    std::filesystem::rename(folder.database(), folder.path() / "moved.db");
    const auto lost = user.beat();
    ASSERT_FALSE(lost);
    EXPECT_EQ(lost.error(), errc::store_replaced);
    EXPECT_TRUE(user.hears("session_lost the store was replaced"));
    ASSERT_EQ(user.open(), error_code()) << user.port().explain();
    EXPECT_TRUE(user.beat());
    EXPECT_EQ(folder.sql("SELECT count(*) FROM session"), 1);
    user.ask("b");
    world.until([&] { return !user.take_notices().empty(); }, 0ms);
    EXPECT_NE(world.get(user.port().list("", 10, 10))->size(), 0u);
    EXPECT_NE(
        folder.sql(
            "SELECT count(*) FROM meta WHERE domain <> '" + std::string(domain.name()) + "'"
        ),
        0
    );
}

TEST_F(SqliteStore, DeadlinesOfOthersAreToldAndTheDeadAreReaped) {
    store_user holder(world, folder.config());
    store_user waiter(world, folder.config());
    ASSERT_EQ(waiter.open(), error_code());
    EXPECT_FALSE(waiter.beat()->next_deadline) << "there is nobody else";
    ASSERT_EQ(holder.open(200ms), error_code());
    ASSERT_EQ(holder.ask("a").type, answer::kind::granted);
    ASSERT_EQ(waiter.ask("a").type, answer::kind::queued);
    const auto first = waiter.beat();
    ASSERT_TRUE(first && first->next_deadline);
    EXPECT_LE(*first->next_deadline, 200ms);
    EXPECT_FALSE(waiter.hears("granted", *first->next_deadline + 1ms))
        << "not before somebody looks";
    EXPECT_TRUE(waiter.beat());
    EXPECT_TRUE(waiter.hears("granted 1"));
    const auto dead = holder.beat();
    ASSERT_FALSE(dead);
    EXPECT_EQ(dead.error(), errc::session_lost);
}

TEST_F(SqliteStore, AHeartbeatNeedsNoLock) {
    store_user user(world, folder.config());
    ASSERT_EQ(user.open(), error_code());
    sqlite_detail::side_folder side(folder.database().string());
    side.lock();  // as a process that was stopped inside a transaction
    bool answered = false;
    asio::co_spawn(
        world.context,
        [&]() -> asio::awaitable<void> {
            lock_request wish;
            wish.id = 7;
            wish.name = "a";
            co_await user.port().request(std::move(wish));
            answered = true;
        },
        asio::detached
    );
    EXPECT_FALSE(world.until([&] { return answered; }, 50ms));
    EXPECT_TRUE(user.beat()) << "a writer that is stuck does not end the session";
    EXPECT_FALSE(answered);
    side.unlock();
    EXPECT_TRUE(world.until([&] { return answered; }));
}

TEST_F(SqliteStore, NothingComesAfterDetach) {
    store_user holder(world, folder.config());
    store_user waiter(world, folder.config());
    ASSERT_EQ(holder.open(), error_code());
    ASSERT_EQ(waiter.open(), error_code());
    ASSERT_EQ(holder.ask("a").type, answer::kind::granted);
    ASSERT_EQ(waiter.ask("a").type, answer::kind::queued);
    EXPECT_TRUE(holder.hears("contended 1"));
    waiter.port().detach();
    holder.release("a", 1, holder.token());
    world.until([] { return false; }, 50ms);
    EXPECT_EQ(waiter.take_notices(), "");
    EXPECT_EQ(holder.ask("a").type, answer::kind::granted)
        << "a client that has gone holds nothing";
}

}  // namespace
}  // namespace mortise::test::sqlite_store_test
