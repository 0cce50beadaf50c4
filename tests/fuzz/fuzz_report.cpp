// SPDX-License-Identifier: BSL-1.0
// Whatever a store says of its locks, `ls`, `show` and `watch` show it safely, their JSON is JSON,
// and the changes that `watch` tells lead from one look to the next.
#include "common/failure.hpp"
#include "common/printable.hpp"
#include "fuzz/some_views.hpp"
#include "fuzz/target.hpp"
#include "lock/lock_report.hpp"
#include "lock/watch_output.hpp"

#include <boost/json/parse.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::fuzz::report_target {
namespace {

using tool::lock_change;

void check_lines(const std::string& text) {
    MORTISE_ASSERT(tool::valid_utf8(text));
    MORTISE_ASSERT(std::none_of(text.begin(), text.end(), [](const char each) {
        return (static_cast<unsigned char>(each) < 0x20 && each != '\n') || each == 0x7f;
    }));
}

std::size_t count_lines(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void check_listing(const std::vector<lock_view>& locks, const std::string& store) {
    std::ostringstream table;
    tool::write_table(table, locks, true);
    check_lines(table.str());
    std::size_t lines = 1;
    for (const lock_view& each : locks)
        lines += each.holders.size() + each.waiters.size();
    MORTISE_ASSERT(count_lines(table.str()) == lines);
    std::ostringstream out;
    tool::write_json(out, store, locks);
    const auto read = boost::json::parse(out.str());
    MORTISE_ASSERT(read.at("locks").as_array().size() == locks.size());
}

void check_report(const tool::lock_report& report, const std::string& store) {
    std::ostringstream text;
    report.write(text);
    check_lines(text.str());
    std::ostringstream out;
    report.write_json(out, store);
    const auto read = boost::json::parse(out.str());
    MORTISE_ASSERT(read.at("breaks").as_array().size() == report.breaks.size());
    MORTISE_ASSERT(read.at("holders").as_array().size() == report.view.holders.size());
}

// The locks acquired less the locks released must be the difference of the two views.
void check_changes(const std::vector<lock_view>& before, const std::vector<lock_view>& after) {
    std::map<std::string, std::ptrdiff_t> holders;
    for (const lock_view& each : before)
        holders[each.name] += static_cast<std::ptrdiff_t>(each.holders.size());
    for (const lock_change& each : tool::changes_between(before, after)) {
        if (each.type == lock_change::kind::acquired)
            ++holders[each.name];
        if (each.type == lock_change::kind::released)
            --holders[each.name];
    }
    for (const lock_view& each : after)
        holders[each.name] -= static_cast<std::ptrdiff_t>(each.holders.size());
    for (const auto& [name, difference] : holders)
        MORTISE_ASSERT(difference == 0);
    MORTISE_ASSERT(tool::changes_between(after, after).empty());
}

void check_watch(const std::vector<lock_view>& before, const std::vector<lock_view>& after) {
    for (const bool as_json : {true, false}) {
        std::ostringstream out;
        tool::watch_lines lines(out, as_json);
        lines.show(before);
        lines.show(after);
        if (!as_json) {
            check_lines(out.str());
            continue;
        }
        std::istringstream read(out.str());
        for (std::string line; std::getline(read, line);)
            MORTISE_ASSERT(boost::json::parse(line).as_object().contains("change"));
    }
}

}  // namespace

MORTISE_FUZZ_TARGET(report) {
    some_views some(in);
    const std::vector<lock_view> before = some.locks();
    const std::vector<lock_view> after = in.flag() ? some.locks() : before;
    tool::lock_report report;
    report.view = some.lock();
    report.breaks.resize(in.pick(3));
    std::generate(report.breaks.begin(), report.breaks.end(), [&] { return some.record(); });
    const std::string store = in.rest();
    check_listing(before, store);
    check_report(report, store);
    check_changes(before, after);
    check_watch(before, after);
    check_lines(tool::failure(1, store, report.view.name, store).text());
}

}  // namespace mortise::fuzz::report_target
