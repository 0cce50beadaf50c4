// SPDX-License-Identifier: BSL-1.0
// Message files that are closed when they are long, and removed.
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/file_sink.hpp"
#include "sinks/message_file.hpp"
#include "sinks/message_lines.hpp"
#include "unit/outbox/outbox_world.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mortise::test::outbox_message_files_test {
namespace {

using namespace std::chrono_literals;
using outbox::file_sink_options;
using outbox::message_files;
using outbox::outgoing;
using outbox::read_message_files;
using texts = std::vector<std::string>;

class OutboxMessageFiles : public outbox_world {
protected:
    OutboxMessageFiles() {
        run([](db::connection& on) { outbox::reshard(on, 1); });
    }

    std::filesystem::path files() const { return folder_.path() / "messages"; }
    std::filesystem::path present() const { return outbox::sinks::present_file(files(), shard); }
    outbox::relay_config to_files(file_sink_options bounds) {
        auto how = config();
        how.batch_rows = 2;
        how.keep = 1h;
        how.sink = outbox::make_file_sink(files(), bounds);
        return how;
    }
    void append_all(int from, int to) {
        for (int i = from; i < to; ++i)
            append("k", std::to_string(i));
    }
    void send(file_sink_options bounds) {
        start(to_files(bounds));
        drain();
        stop();
    }
    static texts numbers(int from, int to) {
        texts result;
        for (int i = from; i < to; ++i)
            result.push_back(std::to_string(i));
        return result;
    }
    static texts payloads_of(const std::vector<outgoing>& all) {
        texts found;
        for (const auto& each : all)
            found.push_back(each.message.payload.value_or("(none)"));
        return found;
    }
    texts payloads(std::optional<std::int64_t> after = std::int64_t{0}) const {
        return payloads_of(read_message_files(files(), shard, after));
    }
    static std::string bytes_of(const std::filesystem::path& file) {
        std::ifstream in(file, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    static constexpr std::uint32_t shard = 4;  // the first of the layout that the test has made
};

TEST_F(OutboxMessageFiles, ALongOneIsClosedAndTheNextGoesOn) {
    append_all(0, 20);
    send({.file_bytes = 300});
    const auto closed = message_files(files(), shard);
    ASSERT_GT(closed.size(), 3u);
    EXPECT_EQ(closed.back(), present());
    EXPECT_EQ(payloads(), numbers(0, 20));
    std::vector<std::string> before;
    for (const auto& each : closed) {
        before.push_back(bytes_of(each));
        EXPECT_LT(before.back().size(), 800u);
        EXPECT_FALSE(outbox::read_message_file(each).empty());
    }
    append_all(20, 40);
    send({.file_bytes = 300});
    EXPECT_EQ(payloads(), numbers(0, 40));
    EXPECT_EQ(events(outbox::relay_event::kind::refused), 0u) << "it is the same sink";
    for (std::size_t i = 0; i + 1 < closed.size(); ++i)
        EXPECT_EQ(bytes_of(closed[i]), before[i]) << "it was closed, and has changed";
}

TEST_F(OutboxMessageFiles, OneWithoutMessagesIsNotClosed) {
    append_all(0, 10);
    send({.file_bytes = 1});
    const auto all = message_files(files(), shard);
    EXPECT_EQ(all.size(), 5u) << "one for each batch";
    for (const auto& each : all)
        EXPECT_EQ(outbox::read_message_file(each).size(), 2u);
}

TEST_F(OutboxMessageFiles, SoManyAreKeptAndAReaderThatIsTooSlowIsTold) {
    append_all(0, 20);
    send({.file_bytes = 1, .files_kept = 3});
    EXPECT_EQ(message_files(files(), shard).size(), 4u);
    EXPECT_EQ(payloads(std::nullopt), numbers(12, 20));
    try {
        payloads(0);
        ADD_FAILURE() << "it has missed some";
    } catch (const error& missed) {
        EXPECT_EQ(missed.code(), outbox::errc::files_removed);
    }
    const auto there = read_message_files(files(), shard);
    EXPECT_EQ(payloads(there.front().row), numbers(13, 20));
    EXPECT_EQ(payloads(there.front().row - 1), numbers(12, 20)) << "it has read all before";
    // A closed file may be removed after it was read.
    for (const auto& each : message_files(files(), shard)) {
        if (each != present())
            std::filesystem::remove(each);
    }
    EXPECT_EQ(payloads(there.back().row), texts());
    append_all(20, 22);
    send({.file_bytes = 1, .files_kept = 3});
    EXPECT_EQ(payloads(there.back().row), numbers(20, 22));
}

TEST_F(OutboxMessageFiles, ACrashBetweenTheTwoNamesIsMended) {
    append_all(0, 6);
    send({});
    // As whoever died has left it: the closed name is given, the next file is begun.
    const auto all = message_files(files(), shard);
    ASSERT_EQ(all.size(), 1u);
    std::uint64_t sequence = 0;
    for (const auto& each : describe().shards) {
        if (each.shard == shard)
            sequence = each.last.sequence;
    }
    const auto closed = outbox::sinks::closed_file(files(), shard, sequence);
    std::filesystem::create_hard_link(present(), closed);
    std::ofstream(outbox::sinks::next_file(files(), shard)) << "mortise-messages-2\t";
    EXPECT_EQ(payloads(), numbers(0, 6)) << "one file with two names is read once";
    append_all(6, 8);
    send({});
    EXPECT_EQ(message_files(files(), shard), std::vector{present()});
    EXPECT_FALSE(std::filesystem::exists(outbox::sinks::next_file(files(), shard)));
    EXPECT_EQ(payloads(), numbers(0, 8));
    append_all(8, 12);
    send({.file_bytes = 1});
    EXPECT_EQ(payloads(), numbers(0, 12));
}

TEST_F(OutboxMessageFiles, WhatIsCutOffIsOfABatchThatWasNotFinished) {
    append_all(0, 6);
    send({.file_bytes = 1});
    const auto before = bytes_of(present());
    const auto head = before.find("message\t");
    ASSERT_NE(head, std::string::npos);
    for (auto size = head; size < before.size(); size += 7) {
        std::ofstream(present(), std::ios::binary) << before.substr(0, size);
        EXPECT_EQ(payloads(), numbers(0, 4)) << size;
    }
    // The mark is that of the file before: the relay sends what was cut off once more.
    run([](db::connection& on) {
        on.run("UPDATE mortise_outbox_shard SET row = 0, sequence = 0, message = ''");
    });
    append_all(6, 8);
    send({.file_bytes = 1});
    EXPECT_EQ(payloads(), numbers(0, 8));
}

TEST_F(OutboxMessageFiles, ANextOneThatCannotBeBegunLosesNothing) {
    append_all(0, 2);
    send({});
    std::filesystem::create_directories(outbox::sinks::next_file(files(), shard) / "in the way");
    append_all(2, 6);
    start(to_files({.file_bytes = 1}));
    EXPECT_TRUE(eventually([&] { return events(outbox::relay_event::kind::failed) > 1; }));
    EXPECT_EQ(payloads(), numbers(0, 2));
    std::filesystem::remove_all(outbox::sinks::next_file(files(), shard));
    drain();
    EXPECT_EQ(payloads(), numbers(0, 6));
}

TEST_F(OutboxMessageFiles, AreReadWhileTheyAreClosed) {
    constexpr int count = 120;
    start(to_files({.file_bytes = 200}));
    texts read;
    std::int64_t after = 0;
    const auto read_on = [&] {
        for (const auto& each : read_message_files(files(), shard, after)) {
            read.push_back(each.message.payload.value_or("(none)"));
            after = each.row;
        }
    };
    for (int i = 0; i < count; ++i) {
        append("k", std::to_string(i));
        read_on();
    }
    EXPECT_TRUE(eventually([&] {
        read_on();
        return read.size() >= count;
    }));
    EXPECT_EQ(read, numbers(0, count));
    EXPECT_GT(message_files(files(), shard).size(), 5u);
}

TEST_F(OutboxMessageFiles, NothingIsReadWhereNothingIs) {
    EXPECT_TRUE(message_files(files(), shard).empty());
    EXPECT_TRUE(read_message_files(files(), shard, 7).empty());
}

}  // namespace
}  // namespace mortise::test::outbox_message_files_test
