// SPDX-License-Identifier: BSL-1.0
#include "mortise/coro/event.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "mortise/outbox/handler_sink.hpp"
#include "sinks/message_file.hpp"
#include "sinks/message_lines.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <boost/asio/this_coro.hpp>
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace mortise::test::outbox_sinks_test {
namespace {

using namespace std::chrono_literals;
using outbox::message;
using outbox::outgoing;
using outbox::row_kind;
using outbox::verdict;
using texts = std::vector<std::string>;

/// Files do not grow beyond that, but for those that are longer already.
class file_size_limit {
public:
    explicit file_size_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit now = before_;
        now.rlim_cur = bytes;
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
    }
    ~file_size_limit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    file_size_limit(const file_size_limit&) = delete;
    file_size_limit& operator=(const file_size_limit&) = delete;

private:
    void (*handler_)(int);
    rlimit before_{};
};

class OutboxSinks : public outbox_world {
protected:
    std::filesystem::path files() const { return folder_.path() / "messages"; }
    outbox::relay_config to_files() {
        auto how = config();
        how.sink = outbox::make_file_sink(files());
        return how;
    }
    outbox::relay_config to_handler(outbox::message_handler handler) {
        auto how = config();
        how.sink = outbox::make_handler_sink(std::move(handler));
        return how;
    }
    /// Of all shards, those of each after those of the one before.
    std::vector<outgoing> in_files() const {
        std::vector<outgoing> all;
        for (const auto& each : std::filesystem::directory_iterator(files())) {
            for (auto& one : outbox::read_message_file(each.path()))
                all.push_back(std::move(one));
        }
        return all;
    }
    texts payloads_in_files() const {
        texts found;
        for (const auto& each : in_files())
            found.push_back(each.message.payload.value_or("(none)"));
        return found;
    }
};

TEST_F(OutboxSinks, AFileHoldsAllOfAMessage) {
    message original("a topic", std::string("\0\t\n%", 4), std::nullopt);
    original.headers = {{"name = 1", "x\ty"}, {"empty", ""}};
    original.id = "id 1";
    append(original);
    start(to_files());
    drain();
    const auto found = in_files();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].message.id, "id 1");
    EXPECT_EQ(found[0].message.topic, original.topic);
    EXPECT_EQ(found[0].message.key, original.key);
    EXPECT_EQ(found[0].message.payload, std::nullopt);
    EXPECT_EQ(found[0].message.headers, original.headers);
}

TEST_F(OutboxSinks, WhatIsNotWholeIsCutOff) {
    append("k", "1");
    append("k", "2");
    start(to_files());
    drain();
    stop();
    for (const auto& each : std::filesystem::directory_iterator(files())) {
        std::ofstream torn(each.path(), std::ios::app);
        torn << "message\t9\tx\ttopic\tk\ttorn\nmessage\t10\ty\tto";
    }
    EXPECT_EQ(payloads_in_files(), (texts{"1", "2"}));
    append("k", "3");
    start(to_files());
    drain();
    EXPECT_EQ(payloads_in_files(), (texts{"1", "2", "3"}));
}

TEST_F(OutboxSinks, AFileOfSomebodyElseIsLeftAlone) {
    std::filesystem::create_directories(files());
    for (int shard = 0; shard < 4; ++shard)
        std::ofstream(files() / (std::to_string(shard) + ".messages")) << "dear diary\n";
    append("k", "1");
    start(to_files());
    EXPECT_TRUE(eventually([&] {
        for (const auto& each : site_.relay->status()) {
            if (each.trouble == outbox::errc::bad_file)
                return true;
        }
        return false;
    }));
    stop();
    std::ifstream left(files() / "0.messages");
    std::string line;
    std::getline(left, line);
    EXPECT_EQ(line, "dear diary");
    EXPECT_THROW(outbox::read_message_file(files() / "0.messages"), error);
    EXPECT_THROW(outbox::read_message_file(files() / "nothing"), error);
}

TEST_F(OutboxSinks, OneWhoseMarkCannotBeReadIsMovedAwayAndAnOperatorSaysWhereItGoesOn) {
    append("k", "1");
    start(to_files());
    drain();
    stop();
    const auto shard = list(row_kind::waiting).at(0).shard.value();
    const auto file = files() / (std::to_string(shard) + ".messages");
    std::ofstream(file, std::ios::app) << "mark\tspoiled\n";
    append("k", "2");
    start(to_files());
    const auto trouble_is = [&](outbox::errc expected) {
        return eventually([&] {
            for (const auto& each : site_.relay->status()) {
                if (each.shard == shard && each.trouble == expected)
                    return true;
            }
            return false;
        });
    };
    EXPECT_TRUE(trouble_is(outbox::errc::bad_file));
    const auto rebase = [&] {
        run([shard](db::connection& on) {
            outbox::rebase(
                on, shard, outbox::position::after(outbox::describe(on).shards.at(shard).last.row)
            );
        });
    };
    try {
        rebase();
        ADD_FAILURE() << "there is no sink to go on with";
    } catch (const boost::system::system_error& refused) {
        EXPECT_EQ(refused.code(), outbox::errc::nothing_refused);
        EXPECT_NE(std::string(refused.what()).find("cannot read the mark"), std::string::npos);
    }
    std::filesystem::rename(file, folder_.path() / "aside");
    EXPECT_TRUE(trouble_is(outbox::errc::foreign_sink));
    EXPECT_TRUE(eventually([&] { return describe().shards.at(shard).refused.has_value(); }));
    rebase();
    drain();
    EXPECT_EQ(payloads_in_files(), texts{"2"});
}

TEST_F(OutboxSinks, NorIsOneWithoutAnEndOfALineTakenForTorn) {
    std::filesystem::create_directories(files());
    // Under the file's name at once: a relay that tries again must not find it empty.
    const auto write = [this](const char* text) {
        for (int shard = 0; shard < 4; ++shard) {
            std::ofstream(folder_.path() / "new") << text;
            std::filesystem::rename(
                folder_.path() / "new", files() / (std::to_string(shard) + ".messages")
            );
        }
    };
    write("dear diary");
    append("k", "1");
    start(to_files());
    EXPECT_TRUE(eventually([&] {
        for (const auto& each : site_.relay->status()) {
            if (each.trouble == outbox::errc::bad_file)
                return true;
        }
        return false;
    }));
    std::string left;
    std::getline(std::ifstream(files() / "0.messages"), left);
    EXPECT_EQ(left, "dear diary");
    write("mortise-mess");  // of ours, torn in its first line
    drain();
    EXPECT_EQ(payloads_in_files(), texts{"1"});
}

TEST_F(OutboxSinks, OneRelayAtATimeWritesAFile) {
    append("k", "1");
    start(to_files());
    drain();
    outbox_site other;
    other.relay.emplace(other.executor(), to_files());
    EXPECT_TRUE(eventually([&] {
        for (const auto& each : other.relay->status()) {
            if (each.at == outbox::shard_status::state::opening && each.trouble)
                return true;
        }
        return false;
    }));
    stop();
    append("k", "2");
    wait_for(other.relay->async_drained(asio::use_future));
    EXPECT_EQ(payloads_in_files(), (texts{"1", "2"}));
}

TEST_F(OutboxSinks, AFunctionHearsThemInTheirOrder) {
    std::mutex mutex;
    std::map<std::string, texts> heard;
    for (int i = 0; i < 50; ++i)
        append(std::to_string(i % 5), std::to_string(i / 5));
    start(to_handler([&](const outgoing& row) -> asio::awaitable<verdict> {
        const std::lock_guard hold(mutex);
        heard[*row.message.key].push_back(*row.message.payload);
        co_return verdict::done();
    }));
    drain();
    const std::lock_guard hold(mutex);
    ASSERT_EQ(heard.size(), 5u);
    for (const auto& [key, texts_of] : heard)
        EXPECT_EQ(texts_of, (texts{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
}

TEST_F(OutboxSinks, AFunctionThatFailsIsCalledAgain) {
    std::mutex mutex;
    texts heard;
    int failures = 3;
    for (const char* each : {"1", "2", "3"})
        append("k", each);
    start(to_handler([&](const outgoing& row) -> asio::awaitable<verdict> {
        const std::lock_guard hold(mutex);
        if (row.message.payload == "2" && failures-- > 0)
            throw std::runtime_error("not yet");
        heard.push_back(*row.message.payload);
        co_return verdict::done();
    }));
    drain();
    const std::lock_guard hold(mutex);
    EXPECT_EQ(heard, (texts{"1", "2", "3"}));  // and the first of them once
}

TEST_F(OutboxSinks, WhatAFunctionAlwaysThrowsForIsParkedAndHoldsUpItsKeyOnly) {
    std::mutex mutex;
    texts heard;
    int calls = 0;
    for (const char* each : {"1", "2", "3"})
        append("k", each);
    append("other", "4");
    start(to_handler([&](const outgoing& row) -> asio::awaitable<verdict> {
        const std::lock_guard hold(mutex);
        if (row.message.payload == "2") {
            ++calls;
            throw std::runtime_error("two never works");
        }
        heard.push_back(*row.message.payload);
        co_return verdict::done();
    }));
    EXPECT_TRUE(eventually([&] { return list(row_kind::parked).size() == 2; }));
    drain();
    append("l", "5");
    drain();
    const auto parked = list(row_kind::parked);
    ASSERT_EQ(parked.size(), 2u);
    EXPECT_NE(parked[0].reason->find("two never works"), std::string::npos);
    const std::lock_guard hold(mutex);
    std::sort(heard.begin(), heard.end());
    EXPECT_EQ(heard, (texts{"1", "4", "5"}));
    EXPECT_EQ(calls, 10);
}

TEST_F(OutboxSinks, AFunctionIsCalledAsOftenAsItsOptionsSay) {
    std::atomic<int> calls{0};
    append("k", "1");
    auto how = config();
    const auto fails = [&](const outgoing&) -> asio::awaitable<verdict> {
        ++calls;
        throw std::runtime_error("never");
        co_return verdict::done();
    };
    how.sink = outbox::make_handler_sink(fails, {.attempts_max = 2});
    start(how);
    EXPECT_TRUE(eventually([&] { return list(row_kind::parked).size() == 1; }));
    EXPECT_EQ(calls, 2);
    EXPECT_THROW(outbox::make_handler_sink(fails, {.attempts_max = 0}), error);
}

// It says nothing of the message.
TEST_F(OutboxSinks, WhatAFunctionThrowsWhenTheRelayStopsIsNoAttempt) {
    std::atomic<bool> waits{true};
    std::atomic<int> calls{0};
    append("k", "1");
    auto how = config();
    how.sink = outbox::make_handler_sink(
        [&](const outgoing&) -> asio::awaitable<verdict> {
            ++calls;
            if (waits) {
                coro::event never(co_await asio::this_coro::executor);
                auto waiting = never.async_wait();
                co_await std::move(waiting);
            }
            co_return verdict::done();
        },
        {.attempts_max = 1}
    );
    start(how);
    EXPECT_TRUE(eventually([&] { return calls == 1; }));
    site_.relay.reset();  // which waits for no batch
    waits = false;
    start(how);
    drain();
    EXPECT_EQ(calls, 2);
    EXPECT_TRUE(list(row_kind::parked).empty());
}

TEST_F(OutboxSinks, AFunctionMayThrowWhatIsNoException) {
    std::atomic<int> calls{0};
    append("k", "1");
    start(to_handler([&](const outgoing&) -> asio::awaitable<verdict> {
        if (++calls < 3)
            throw 1;
        co_return verdict::done();
    }));
    drain();
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(events(outbox::relay_event::kind::failed), 2u);
}

TEST_F(OutboxSinks, WhatAFileHasOnlyInPartIsTakenBack) {
    outbox::sinks::message_file file{outbox::file_sink_options()};
    ASSERT_TRUE(file.open(files(), 0));
    const auto path = files() / "0.messages";
    outgoing row;
    row.message = message("events", "k", "1");
    const std::string line = outbox::sinks::message_line(row);
    EXPECT_FALSE(file.append(line, outbox::mark(), true));
    const auto before = std::filesystem::file_size(path);
    {
        const file_size_limit limit(before + line.size() / 2);
        EXPECT_TRUE(file.append(line, outbox::mark(), true));
        EXPECT_EQ(std::filesystem::file_size(path), before);
    }
    EXPECT_FALSE(file.append(line, outbox::mark(), true));
    EXPECT_EQ(std::filesystem::file_size(path), before + line.size());
}

TEST_F(OutboxSinks, WhatAFunctionRefusesIsParked) {
    std::mutex mutex;
    texts heard;
    for (const char* each : {"1", "2", "3"})
        append("k", each);
    append("other", "4");
    start(to_handler([&](const outgoing& row) -> asio::awaitable<verdict> {
        const std::lock_guard hold(mutex);
        if (row.message.payload == "2")
            co_return verdict::refused("two is wrong");
        heard.push_back(*row.message.payload);
        co_return verdict::done();
    }));
    drain();
    const auto parked = list(row_kind::parked);
    ASSERT_EQ(parked.size(), 2u);
    EXPECT_NE(parked[0].reason->find("two is wrong"), std::string::npos);
    const std::lock_guard hold(mutex);
    std::sort(heard.begin(), heard.end());
    EXPECT_EQ(heard, (texts{"1", "4"}));
}

TEST_F(OutboxSinks, AFunctionIsNotCalledAgainAfterARestart) {
    std::mutex mutex;
    texts heard;
    const auto handler = [&](const outgoing& row) -> asio::awaitable<verdict> {
        const std::lock_guard hold(mutex);
        heard.push_back(*row.message.payload);
        co_return verdict::done();
    };
    append("k", "1");
    start(to_handler(handler));
    drain();
    stop();
    append("k", "2");
    start(to_handler(handler));
    drain();
    const std::lock_guard hold(mutex);
    EXPECT_EQ(heard, (texts{"1", "2"}));
}

}  // namespace
}  // namespace mortise::test::outbox_sinks_test
