// SPDX-License-Identifier: BSL-1.0
#include "chaos/relay_shop.hpp"

#include "chaos/looked_at_file.hpp"
#include "mortise/outbox/mark.hpp"
#include "support/built_program.hpp"
#include "support/eventually.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

namespace mortise::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 90s;
constexpr std::int64_t rolled_back = -1;

}  // namespace

std::string crash_at(const std::string& point, int time) {
    return "MORTISE_CRASH_AT=" + point + ':' + std::to_string(time);
}

relay_shop::relay_shop(kafka_broker& broker) : broker_(broker) {
    broker_.create_topic(topic_, 3);
}

relay_shop::program relay_shop::start(words arguments, const words& environment) const {
    words command{"env"};
    command.insert(command.end(), environment.begin(), environment.end());
    command.emplace_back(built_program("tests/relay_actor"));
    command.push_back(folder_.path());
    command.insert(command.end(), arguments.begin(), arguments.end());
    return std::make_unique<child_program>(command, folder_.path() / "output");
}

relay_shop::program relay_shop::start_writer(words more, const words& environment) const {
    more.insert(more.begin(), {"write", "topic=" + topic_});
    return start(std::move(more), environment);
}

relay_shop::program relay_shop::start_relay(words more, const words& environment) const {
    more.insert(more.begin(), {"relay", "servers=" + broker_.address(), "progress=" + progress_});
    return start(std::move(more), environment);
}

relay_shop::program
relay_shop::stopped_relay(const std::string& point, int time, words more) const {
    auto relay =
        start_relay(std::move(more), {"MORTISE_STOP_AT=" + point + ':' + std::to_string(time)});
    const bool stopped = relay->await_stop(patience);
    EXPECT_TRUE(stopped) << point << '\n' << output();
    return stopped ? std::move(relay) : nullptr;
}

void relay_shop::drain(const words& more) const {
    words all{"drain=1"};
    all.insert(all.end(), more.begin(), more.end());
    const auto last = start_relay(std::move(all));
    expect_end(*last, 0);
}

void relay_shop::expect_end(child_program& child, int code) const {
    EXPECT_EQ(child.wait(patience).value_or(-1), code) << output();
}

std::string relay_shop::output() const {
    std::ifstream file(folder_.path() / "output");
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t relay_shop::times_printed(const std::string& begins) const {
    std::istringstream all(output());
    std::size_t found = 0;
    for (std::string line; std::getline(all, line);)
        found += line.starts_with(begins) ? 1u : 0u;
    return found;
}

std::int64_t relay_shop::sql(const std::string& statement) const {
    const looked_at_file file(database());
    auto on = file.connect();
    auto row = on.query(statement);
    return row.step() ? row.integer(0) : 0;
}

bool relay_shop::can_be_written() const {
    const looked_at_file file(database());
    const auto on = file.connect();
    ::sqlite3_busy_timeout(on.handle(), 100);
    return ::sqlite3_exec(on.handle(), "BEGIN IMMEDIATE; ROLLBACK", nullptr, nullptr, nullptr) ==
           SQLITE_OK;
}

relay_shop::numbers_by_key relay_shop::wanted() const {
    numbers_by_key found;
    const looked_at_file file(database());
    auto on = file.connect();
    auto row = on.query("SELECT key, n FROM sale ORDER BY n");
    while (row.step())
        found[row.text(0)].push_back(row.integer(1));
    return found;
}

relay_shop::numbers_by_key relay_shop::seen(repetitions how) const {
    numbers_by_key found;
    std::set<std::string> ids;
    for (const auto& each : kafka_reader(broker_.address()).read_settled(topic_)) {
        const bool first = ids.insert(each.headers.back().second.value()).second;
        if (!first && how == repetitions::left_out)
            continue;
        const std::string& payload = each.value.value();
        found[each.key.value()].push_back(payload == "never" ? rolled_back : std::stoll(payload));
    }
    return found;
}

bool relay_shop::all_is_published() const {
    const kafka_reader reader(broker_.address());
    return eventually([&] { return reader.read(topic_).size() >= sales(); }, patience);
}

// Reports only the first difference of each key: all of them would be too much to read.
std::string relay_shop::what_is_wrong(repetitions how) const {
    const numbers_by_key expected = wanted();
    if (expected.empty())
        return "there was nothing to tell";
    numbers_by_key received = seen(how);
    std::string wrong;
    for (const auto& [key, numbers] : expected) {
        const auto& there = received[key];
        const auto differ =
            std::mismatch(there.begin(), there.end(), numbers.begin(), numbers.end());
        if (differ.first == there.end() && differ.second == numbers.end())
            continue;
        const auto text = [](auto at, auto end) {
            return at == end ? std::string("nothing") : std::to_string(*at);
        };
        wrong += "key " + key + ": " + std::to_string(there.size()) + " of " +
                 std::to_string(numbers.size()) + "; in the place of " +
                 text(differ.second, numbers.end()) + " is " + text(differ.first, there.end()) +
                 '\n';
    }
    return received.size() == expected.size() ? wrong : wrong + "there are other keys\n";
}

void relay_shop::expect_exactly_once() const {
    EXPECT_EQ(what_is_wrong(), "");
    expect_marks();
}

// Each mark may occur twice: it is sent again with the messages that follow it.
void relay_shop::expect_marks() const {
    std::map<std::uint32_t, outbox::mark> newest;
    std::map<std::string, int> times;
    for (const auto& each : kafka_reader(broker_.address()).read_settled(progress_)) {
        const auto mark = outbox::mark::parse(each.value.value());
        ASSERT_TRUE(mark) << each.value.value();
        outbox::mark& last = newest[mark->shard];
        EXPECT_LE(++times[mark->text()], 2) << mark->text();
        if (mark->text() != last.text()) {
            EXPECT_GT(mark->sequence, last.sequence) << "of shard " << mark->shard;
        }
        last = *mark;
    }
    const looked_at_file file(database());
    auto on = file.connect();
    auto row = on.query("SELECT shard, row, (SELECT max(slot & 0x3fffffffffff) FROM mortise_outbox"
                        " WHERE slot >> 46 = shard) FROM mortise_outbox_shard");
    while (row.step()) {
        if (row.is_null(2))
            continue;  // the shard never had a row
        const auto shard = static_cast<std::uint32_t>(row.integer(0));
        EXPECT_EQ(newest[shard].row, row.integer(2)) << "at the broker, of shard " << shard;
        EXPECT_EQ(row.integer(1), row.integer(2)) << "in the table, of shard " << shard;
    }
}

}  // namespace mortise::test
