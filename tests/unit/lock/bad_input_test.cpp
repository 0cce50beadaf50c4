// SPDX-License-Identifier: BSL-1.0
// Mistakes of a user, and what the error says: the code, the value at fault, and the remedy.
// Mistakes about an SQLite file are in tests/unit/sqlite.
#include "mortise/open_store.hpp"
#include "mortise/options.hpp"
#include "mortise/store/memory.hpp"
#include "mortise/with_lock.hpp"
#include "support/co_test.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace mortise::bad_input_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

const std::string hundred_years = "use at most 3155760000000 ms";
const std::string for_ever = hundred_years + ", or milliseconds::max() for ever";
const std::string longest = "9223372036854775807 ms";
const std::string lowest = "-9223372036854775808 ms";

struct refusal {
    errc code;
    std::string value;
    std::string remedy;
};

void expect_refusal(const error& wrong, const refusal& expected) {
    EXPECT_EQ(wrong.code(), expected.code) << wrong.what();
    EXPECT_EQ(wrong.value(), expected.value);
    EXPECT_EQ(wrong.remedy(), expected.remedy);
    // A user who sees only the text sees all of it; the particular remedy stands for the general
    // one.
    const std::string text = wrong.what();
    const std::string message = wrong.code().message();
    const std::string fault = message.substr(0, message.find(": "));
    EXPECT_EQ(text, fault + ": " + expected.value + "; " + expected.remedy);
    EXPECT_TRUE(wrong.code() == condition::bad_argument) << text;
}

template <class Call>
void expect_thrown(Call call, const refusal& expected) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown for " << expected.value;
    } catch (const error& wrong) {
        expect_refusal(wrong, expected);
    }
}

// --- names -------------------------------------------------------------------------------------

struct bad_name {
    std::string name;
    refusal expected;
};

const bad_name bad_names[] = {
    {"", {errc::name_empty, "0 bytes", "use 1 to 1,024 bytes"}},
    {std::string(1'025, 'n'),
     {errc::name_too_long,
      "1025 bytes, from \"" + std::string(32, 'n') + "...\"",
      "use 1 to 1,024 bytes; a digest of the long name will do"}},
};

TEST(BadInput, NamesHave1To1024BytesOfAnyKind) {
    for (const auto& row : bad_names) {
        const auto wrong = check_name(row.name);
        ASSERT_TRUE(wrong);
        expect_refusal(*wrong, row.expected);
    }
    EXPECT_FALSE(check_name("n"));
    EXPECT_FALSE(check_name(std::string(1'024, 'n')));
    EXPECT_FALSE(check_name(std::string(1, '\0')));
    EXPECT_FALSE(check_name("\xFF\n "));
}

// --- options of one acquire --------------------------------------------------------------------

struct bad_wait {
    milliseconds wait_max;
    refusal expected;
};

const bad_wait bad_waits[] = {
    {-1ms, {errc::duration_negative, "wait_max = -1 ms", "use zero or more"}},
    {milliseconds::min(), {errc::duration_negative, "wait_max = " + lowest, "use zero or more"}},
    {duration_max + 1ms, {errc::duration_too_long, "wait_max = 3155760000001 ms", for_ever}},
    {milliseconds::max() - 1ms,
     {errc::duration_too_long, "wait_max = 9223372036854775806 ms", for_ever}},
};

TEST(BadInput, AWaitIsBetweenZeroAndAHundredYearsOrForEver) {
    for (const auto& row : bad_waits) {
        const auto wrong = check_options({.wait_max = row.wait_max});
        ASSERT_TRUE(wrong);
        expect_refusal(*wrong, row.expected);
    }
    for (const auto good : {0ms, 1ms, duration_max, milliseconds::max()})
        EXPECT_FALSE(check_options({.wait_max = good}));
    EXPECT_FALSE(check_options(lock_options()));
}

// --- configuration of a client -----------------------------------------------------------------

struct bad_config {
    void (*spoil)(client_config&);
    refusal expected;
};

const std::string half_at_most = "use at most half of the TTL";

const bad_config bad_configs[] = {
    {[](client_config& c) { c.ttl = -1ms; },
     {errc::duration_negative, "ttl = -1 ms", "use zero or more"}},
    {[](client_config& c) { c.ttl = milliseconds::min(); },
     {errc::duration_negative, "ttl = " + lowest, "use zero or more"}},
    {[](client_config& c) { c.ttl = duration_max + 1ms; },
     {errc::duration_too_long, "ttl = 3155760000001 ms", hundred_years}},
    {[](client_config& c) { c.ttl = milliseconds::max(); },
     {errc::duration_too_long, "ttl = " + longest, hundred_years}},
    {[](client_config& c) { c.ttl = 0ms; },
     {errc::ttl_too_short, "ttl = 0 ms", "the memory store keeps sessions for 10 ms or longer"}},
    {[](client_config& c) { c.ttl = 9ms; },
     {errc::ttl_too_short, "ttl = 9 ms", "the memory store keeps sessions for 10 ms or longer"}},
    {[](client_config& c) { c.ttl = 24h + 1ms; },
     {errc::ttl_too_long,
      "ttl = 86400001 ms",
      "the memory store keeps sessions for 86400000 ms at most"}},
    {[](client_config& c) { c.stop_margin = -1ms; },
     {errc::duration_negative, "stop_margin = -1 ms", "use zero or more"}},
    {[](client_config& c) { c.stop_margin = milliseconds::max(); },
     {errc::duration_too_long, "stop_margin = " + longest, hundred_years}},
    {[](client_config& c) { c.stop_margin = 2'501ms; },
     {errc::bad_config, "stop_margin = 2501 ms with ttl = 5000 ms", half_at_most}},
    {[](client_config& c) { c.stop_margin = duration_max; },
     {errc::bad_config, "stop_margin = 3155760000000 ms with ttl = 5000 ms", half_at_most}},
    {[](client_config& c) { c.release_budget = -1ms; },
     {errc::duration_negative, "release_budget = -1 ms", "use zero or more"}},
    {[](client_config& c) { c.release_budget = milliseconds::min(); },
     {errc::duration_negative, "release_budget = " + lowest, "use zero or more"}},
    {[](client_config& c) { c.release_budget = milliseconds::max(); },
     {errc::duration_too_long, "release_budget = " + longest, hundred_years}},
    {[](client_config& c) { c.clock_drift_ppm = 500'001; },
     {errc::bad_config, "clock_drift_ppm = 500001", "use at most 500,000 parts per million"}},
    {[](client_config& c) { c.clock_drift_ppm = std::numeric_limits<std::uint32_t>::max(); },
     {errc::bad_config, "clock_drift_ppm = 4294967295", "use at most 500,000 parts per million"}},
    // The holder would be told to stop before the first heartbeat is due, in each window.
    {[](client_config& c) {
         c.clock_drift_ppm = 500'000;
         c.stop_margin = 2'500ms;
     },
     {errc::bad_config,
      "stop_margin = 2500 ms with ttl = 5000 ms and clock_drift_ppm = 500000",
      "use less of either: more than a third of the TTL must be left for the heartbeat"}},
    {[](client_config& c) { c.waiters_max = 0; },
     {errc::bad_config, "waiters_max = 0", "use at least 1"}},
    {[](client_config& c) { c.holds_max = 0; },
     {errc::bad_config, "holds_max = 0", "use at least 1; 1 allows no reentrancy"}},
};

TEST(BadInput, AClientIsNotMadeWithABadConfiguration) {
    asio::io_context context;
    for (const auto& row : bad_configs) {
        client_config config;
        row.spoil(config);
        const auto make = [&] {
            lock_client(context.get_executor(), open_store("memory:"), std::move(config));
        };
        expect_thrown(make, row.expected);
    }
    EXPECT_EQ(context.poll(), 0u) << "something was started";
}

TEST(BadInput, AClientIsMadeWithTheExtremesThatAreAllowed) {
    void (*const extremes[])(client_config&) = {
        [](client_config& c) { c.ttl = 10ms; },
        [](client_config& c) { c.ttl = 24h; },
        [](client_config& c) { c.stop_margin = c.ttl / 2; },
        [](client_config& c) { c.release_budget = 0ms; },
        [](client_config& c) { c.release_budget = duration_max; },
        [](client_config& c) { c.clock_drift_ppm = 0; },
        [](client_config& c) { c.clock_drift_ppm = 500'000; },
        [](client_config& c) { c.waiters_max = 1; },
        [](client_config& c) { c.waiters_max = std::numeric_limits<std::size_t>::max(); },
    };
    asio::io_context context;
    for (const auto& change : extremes) {
        client_config config;
        change(config);
        EXPECT_NO_THROW(lock_client(context.get_executor(), open_store("memory:"), config));
    }
}

// --- URLs --------------------------------------------------------------------------------------

struct bad_url {
    std::string url;
    errc code;
    std::string value;  // empty: the whole text
    std::string remedy;
};

const std::string wants_scheme = "begin with a scheme and a colon, as in sqlite:locks.db";
const std::string wants_percent = "write a percent sign as %25";
const std::string wants_pairs = "write options as name=value, joined by &";

const bad_url bad_urls[] = {
    {"", errc::bad_url, "", wants_scheme},
    {":", errc::bad_url, "", wants_scheme},
    {":locks.db", errc::bad_url, "", wants_scheme},
    {"sqlite", errc::bad_url, "", wants_scheme},
    {"locks.db", errc::bad_url, "", wants_scheme},
    {"memory:%zz", errc::bad_url, "", wants_percent},
    {"memory:100%", errc::bad_url, "", wants_percent},
    {"memory:a%4", errc::bad_url, "", wants_percent},
    {"memory:a%+1", errc::bad_url, "", wants_percent},
    {"memory:?a=%0x", errc::bad_url, "", wants_percent},
    {"memory:a%00b", errc::bad_url, "", "a zero byte (%00) cannot be part of it"},
    {"memory:a#b", errc::bad_url, "", "write a # as %23"},
    {"memory:?a", errc::bad_url, "", wants_pairs},
    {"memory:?=a", errc::bad_url, "", wants_pairs},
    {"memory:?a=1&&b=2", errc::bad_url, "", wants_pairs},
    {"memory:?a=1&b=2&a=3", errc::bad_url, "", "give the option a once"},
    {"memory:?a=1&%61=3", errc::bad_url, "", "give the option a once"},
    {"memory:x?domain=shop", errc::bad_url, "", "the memory store has no option \"domain\""},
};

TEST(BadInput, AUrlThatCannotBeUnderstoodIsRefused) {
    for (const auto& row : bad_urls)
        expect_thrown([&] { open_store(row.url); }, {row.code, "\"" + row.url + "\"", row.remedy});
    const std::string endless = "memory:" + std::string(8'186, 'x');
    expect_thrown(
        [&] { open_store(endless); },
        {errc::bad_url, "\"" + endless.substr(0, 200) + "\"", "use at most 8,192 bytes"}
    );
}

TEST(BadInput, TheTextOfAnErrorIsWholeWhateverBytesAreInIt) {
    try {
        open_store(std::string_view("memory:a\0b\n\x7F\xC3\xA4", 14));
        ADD_FAILURE() << "a zero byte was taken";
    } catch (const error& wrong) {
        const std::string message = error_code(errc::bad_url).message();
        const std::string shown = "\"memory:a\\x00b\\x0a\\x7f\xC3\xA4\"";
        EXPECT_EQ(wrong.what(), message + ": " + shown + "; a zero byte cannot be part of it");
        EXPECT_EQ(wrong.value().size(), 16u) << "the value itself is as it came";
    }
}

TEST(BadInput, ASchemeThatNobodyKnowsIsRefused) {
    for (const std::string scheme : {"etcd", "MEMORY", "memory+x", "sqlite3", "file"}) {
        try {
            open_store(scheme + ":x");
            ADD_FAILURE() << "opened " << scheme;
        } catch (const error& wrong) {
            EXPECT_EQ(wrong.code(), errc::unknown_scheme);
            EXPECT_EQ(wrong.value(), "\"" + scheme + "\"");
            EXPECT_TRUE(wrong.remedy().starts_with("use memory:")) << wrong.remedy();
        }
    }
}

TEST(BadInput, WhatStandsBeforeAColonByMistakeIsNotShownAsAScheme) {
    for (const std::string text : {"memory :x", "secret@host:6379", ":secret@host", "9:x"}) {
        try {
            open_store(text);
            ADD_FAILURE() << "opened " << text;
        } catch (const error& wrong) {
            EXPECT_EQ(wrong.code(), errc::bad_url) << text;
            EXPECT_EQ(std::string(wrong.what()).find("secret"), std::string::npos) << wrong.what();
        }
    }
}

const bad_url bad_sqlite_urls[] = {
    {"sqlite:", errc::bad_url, "", "name a file, as in sqlite:locks.db"},
    {"sqlite:?domain=shop", errc::bad_url, "", "name a file, as in sqlite:locks.db"},
    {"sqlite:x?domian=shop", errc::bad_url, "", "the sqlite store has no option \"domian\""},
    {"sqlite:x?checkpoint_bytes=many",
     errc::bad_url,
     "",
     "give the option checkpoint_bytes a whole number"},
    {"sqlite:x?checkpoint_bytes=-1",
     errc::bad_url,
     "",
     "give the option checkpoint_bytes a whole number"},
    {"sqlite:x?allow_network_file_system=perhaps",
     errc::bad_url,
     "",
     "give the option allow_network_file_system the value true or false"},
    {"sqlite:x?checkpoint_bytes=1", errc::bad_config, "checkpoint_bytes = 1", "use 65536 or more"},
    {"sqlite:x?domain=two%20words",
     errc::bad_config,
     "domain = \"two words\"",
     "use 1 to 25 characters out of A-Z a-z 0-9 . _ : - (permits add # and a number)"},
};

TEST(BadInput, AnSqliteUrlThatCannotBeMeantIsRefused) {
    try {
        open_store("sqlite:never-opened");
    } catch (const error& wrong) {
        ASSERT_EQ(wrong.code(), errc::unknown_scheme);
        GTEST_SKIP() << "this build is without SQLite";
    }
    for (const auto& row : bad_sqlite_urls) {
        const auto value = row.value.empty() ? "\"" + row.url + "\"" : row.value;
        expect_thrown([&] { open_store(row.url); }, {row.code, value, row.remedy});
    }
}

// --- operations --------------------------------------------------------------------------------

lock_client client_of(test::co_world& world) {
    client_config config;
    config.time = std::shared_ptr<coro::time_source>(&world.time, [](auto*) {});
    return lock_client(world.executor(), make_memory_store(), std::move(config));
}

CO_TEST(BadInput, AcquiresGiveTheCodeAndAskNobody) {
    lock_client locks = client_of(world);
    for (const auto& row : bad_names) {
        auto acquired = co_await locks.async_acquire(row.name, {}, asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(acquired), row.expected.code);
        EXPECT_FALSE(std::get<1>(acquired));
        auto tried = co_await locks.async_try_acquire(row.name, {}, asio::as_tuple(asio::deferred));
        EXPECT_EQ(std::get<0>(tried), row.expected.code);
        EXPECT_FALSE(std::get<1>(tried));
    }
    for (const auto& row : bad_waits) {
        auto acquired = co_await locks.async_acquire(
            "door", {.wait_max = row.wait_max}, asio::as_tuple(asio::deferred)
        );
        EXPECT_EQ(std::get<0>(acquired), row.expected.code);
        EXPECT_FALSE(std::get<1>(acquired));
    }
    const auto stats = locks.stats();
    EXPECT_EQ(stats.sessions, 0u) << "no session is opened for a call that cannot succeed";
    EXPECT_EQ(stats.failed, 2 * std::size(bad_names) + std::size(bad_waits));
    EXPECT_EQ(stats.waiting, 0u);
}

asio::awaitable<std::optional<error>>
thrown_by_with_lock(lock_client& locks, std::string name, lock_options options) {
    bool ran = false;
    auto body = [&ran](const lease& held) -> asio::awaitable<void> {
        ran = held.held();
        co_await asio::post(asio::deferred);
    };
    std::optional<error> wrong;
    try {
        auto run = with_lock(locks, std::move(name), options, body);
        co_await std::move(run);
    } catch (const error& thrown) {
        wrong = thrown;
    }
    EXPECT_FALSE(ran);
    co_return wrong;
}

CO_TEST(BadInput, WithLockSaysWhatIsWrongAndWhatToDo) {
    lock_client locks = client_of(world);
    for (const auto& row : bad_names) {
        const auto wrong = co_await thrown_by_with_lock(locks, row.name, lock_options());
        CO_ASSERT(wrong.has_value());
        expect_refusal(*wrong, row.expected);
    }
    for (const auto& row : bad_waits) {
        const lock_options options = {.wait_max = row.wait_max};
        const auto wrong = co_await thrown_by_with_lock(locks, "door", options);
        CO_ASSERT(wrong.has_value());
        expect_refusal(*wrong, row.expected);
    }
}

TEST(BadInput, TheLongestWaitsDoNotOverflow) {
    test::co_world world;
    lock_client locks = client_of(world);
    lock_client other = client_of(world);
    world.run([&]() -> asio::awaitable<void> {
        for (const auto wait : {duration_max, milliseconds::max()}) {
            lease held = co_await locks.async_acquire("door", {.wait_max = wait});
            EXPECT_TRUE(held.held());
            co_await held.async_release();
        }
        co_await locks.async_stop();
        co_await other.async_stop();
    });
}

}  // namespace
}  // namespace mortise::bad_input_test
