// SPDX-License-Identifier: BSL-1.0
// Somebody cuts the mapped file of heartbeats: memory behind its end raises SIGBUS.
#include "sqlite/side_folder.hpp"
#include "store/sqlite/mapping_guard.hpp"
#include "store/sqlite/slot_file.hpp"
#include "support/eventually.hpp"
#include "unit/sqlite/state_user.hpp"
#include "unit/sqlite/store_folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <list>

namespace mortise::test::cut_file_test {
namespace {

using sqlite_detail::whereabouts;
using store_detail::mapping_guard;

constexpr std::size_t sizes[] = {0, 100, 4'096, 64 << 10, 300 << 10};

class SqliteCutFile : public testing::Test {
protected:
    void cut(std::size_t size) { std::filesystem::resize_file(folder.side() / "sessions", size); }

    store_folder folder;
    still_clock time;
};

TEST_F(SqliteCutFile, LosesTheSessionsAndKillsNobody) {
    for (const auto size : sizes) {
        SCOPED_TRACE(size);
        state_user holder(folder.config(), time);
        state_user waiter(folder.config(), time);
        ASSERT_EQ(holder.open(), error_code()) << holder.state.explain();
        ASSERT_EQ(waiter.open(), error_code()) << waiter.state.explain();
        ASSERT_EQ(holder.ask("door").type, answer::kind::granted);
        cut(size);
        EXPECT_EQ(holder.opened.session->where(), whereabouts::other);
        // The rest of the file may still work for these two, until they look where it is.
        if (size <= 4'096) {
            EXPECT_NE(holder.beat(), error_code()) << "nobody sees its heartbeats any more";
            EXPECT_NE(waiter.beat(), error_code());
            waiter.ask("door");
            EXPECT_NE(waiter.asked(), error_code());
        }
        // The holder may still believe in its lease for the TTL.
        state_user next(folder.config(), time);
        ASSERT_EQ(next.open(), error_code()) << next.state.explain();
        EXPECT_EQ(next.ask("door").type, answer::kind::queued);
        time.pass(state_user::ttl * 3 / 5);
        EXPECT_EQ(next.beat(), error_code());
        time.pass(state_user::ttl * 3 / 5);
        const auto woken = next.state.reap({});
        ASSERT_EQ(woken.notices.size(), 1u);
        EXPECT_EQ(woken.notices[0].kind, store_event::kind::granted);
        std::filesystem::remove_all(folder.side());
        std::filesystem::remove(folder.database());
    }
}

// What is left of the file says that the requester lives, and nothing of the holder.
TEST_F(SqliteCutFile, ThatIsCutBetweenTwoSessionsFreesNoLock) {
    constexpr std::size_t in_a_page = 5'000;  // where no access fails
    constexpr std::size_t behind_a_page = 8'192;
    for (const auto left : {in_a_page, behind_a_page}) {
        SCOPED_TRACE(left);
        state_user requester(folder.config(), time);
        ASSERT_EQ(requester.open(), error_code());
        std::list<state_user> others;
        for (int i = 0; i < 40; ++i) {
            others.emplace_back(folder.config(), time);
            ASSERT_EQ(others.back().open(), error_code()) << others.back().state.explain();
        }
        ASSERT_EQ(others.back().ask("door").type, answer::kind::granted);
        cut(left);
        requester.ask("door");
        EXPECT_EQ(requester.asked(), errc::store_replaced);
        std::filesystem::remove_all(folder.side());
        std::filesystem::remove(folder.database());
    }
}

TEST_F(SqliteCutFile, ThatHasItsSizeAgainIsNotBelieved) {
    state_user holder(folder.config(), time);
    ASSERT_EQ(holder.open(), error_code());
    ASSERT_EQ(holder.ask("door").type, answer::kind::granted);
    const auto size = std::filesystem::file_size(folder.side() / "sessions");
    cut(0);
    cut(size);
    EXPECT_NE(holder.beat(), error_code());
    state_user next(folder.config(), time);
    ASSERT_EQ(next.open(), error_code()) << next.state.explain();
    EXPECT_EQ(next.ask("door").type, answer::kind::queued);
}

/// A page of a file that has been cut.
volatile char* cut_page(const std::filesystem::path& path, bool guarded) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(fd, 4'096), 0);
    void* const memory = ::mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT_NE(memory, MAP_FAILED);
    if (guarded)
        new mapping_guard(memory, 4'096);  // until the child ends
    EXPECT_EQ(::ftruncate(fd, 0), 0);
    return static_cast<volatile char*>(memory);
}

/// How a child ended that did that.
int end_of(const std::function<void()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(STDERR_FILENO);
        body();
        ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
}

TEST_F(SqliteCutFile, AGuardedPageReadsAsZeros) {
    EXPECT_EQ(
        end_of([&] {
            volatile char* const page = cut_page(folder.path() / "page", true);
            page[7] = 1;
            ::_exit(page[0] == 0 && page[7] == 1 ? 0 : 1);
        }),
        0
    );
}

TEST_F(SqliteCutFile, ABusErrorOfAnotherMappingEndsTheProcessAsItDidBefore) {
    const int status = end_of([&] {
        ::signal(SIGBUS, SIG_DFL);
        cut_page(folder.path() / "guarded", true);
        cut_page(folder.path() / "page", false)[0] = 1;
    });
    EXPECT_NE(status, 0);
}

TEST_F(SqliteCutFile, ABusErrorThatWasSentEndsTheProcess) {
    const int status = end_of([&] {
        cut_page(folder.path() / "guarded", true);
        ::raise(SIGBUS);
        ::raise(SIGBUS);  // a sanitizer's handler may have taken the first
    });
    EXPECT_NE(status, 0);
}

}  // namespace
}  // namespace mortise::test::cut_file_test
