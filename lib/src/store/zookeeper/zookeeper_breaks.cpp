// SPDX-License-Identifier: BSL-1.0
// Locks that are taken from their holders, and the records of that.
#include "store/break_note.hpp"
#include "store/zookeeper/zookeeper_views.hpp"
#include "zookeeper/zk_error.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <sstream>
#include <utility>

namespace mortise::store_detail {

using zookeeper_detail::node_kind;
using zookeeper_detail::zk_code;

namespace {

constexpr const char* record_prefix = "record-";

// More than others ever write a node: whoever wants a lock once, and its holder once.
constexpr int writes_of_a_break = 4;

// Each part is escaped as names of locks are.
std::string text_of(const break_record& record) {
    using std::chrono::duration_cast;
    const auto at = duration_cast<std::chrono::milliseconds>(record.at.time_since_epoch()).count();
    std::string text = std::to_string(at) + '\n' + std::to_string(record.token.value);
    for (const auto& each :
         {std::string(record.token.domain.name()),
          record.name,
          record.holder,
          record.who,
          record.why})
        text += '\n' + node_of_lock(each);
    return text;
}

std::optional<break_record> parse_record(const std::string& text) {
    std::istringstream lines(text);
    break_record record;
    std::chrono::milliseconds::rep at = 0;
    lines >> at >> record.token.value;
    lines.ignore();
    record.at = std::chrono::system_clock::time_point(std::chrono::milliseconds(at));
    std::array<std::string, 5> parts;
    for (auto& each : parts) {
        std::string line;
        std::getline(lines, line);
        auto part = lock_of_node(line);
        if (!part)
            return std::nullopt;
        each = std::move(*part);
    }
    const auto domain = token_domain::parse(parts[0]);
    if (!domain)
        return std::nullopt;
    record.token.domain = *domain;
    record.name = std::move(parts[1]);
    record.holder = std::move(parts[2]);
    record.who = std::move(parts[3]);
    record.why = std::move(parts[4]);
    return record;
}

}  // namespace

// Those who wait learn of it by their watches.
asio::awaitable<result<bool>> zookeeper_views::break_(break_order order) {
    if (!link_->has_store())
        co_return false;
    const bool single = link_->config().form == zookeeper_form::single_node;
    auto breaking = single ? break_node(std::move(order)) : break_queue(std::move(order));
    const auto broken = co_await std::move(breaking);
    if (broken && *broken) {
        auto pruning = breaks("", 0);
        co_await std::move(pruning);
    }
    co_return broken;
}

zk_step zookeeper_views::record_of(const break_order& order, std::vector<party_view> broken) const {
    const auto count = broken.size();
    broken.resize(std::min(count, holders_named));
    break_record record;
    record.at = time_of_day();
    record.name = order.name;
    record.token = order.token;
    record.holder = holders_text(broken, count);
    record.who = order.who;
    record.why = order.why;
    zk_step create;
    create.type = zk_step::kind::create;
    create.path = link_->breaks_path() + '/' + record_prefix;
    create.data = text_of(record);
    create.node = node_kind::persistent_sequential;
    return create;
}

asio::awaitable<result<bool>> zookeeper_views::break_queue(break_order order) {
    parties known;
    auto seeing = see(order.name, 0, known);
    const auto found = co_await std::move(seeing);
    if (!found)
        co_return found.error();
    zk_change change;
    std::vector<party_view> broken;
    for (std::size_t i = 0; i < found->holders.size(); ++i) {
        const auto& holder = found->view.holders[i];
        if (holder.token != order.token)
            continue;
        change.push_back(erasure_of(link_->lock_path(order.name) + '/' + found->holders[i]));
        broken.push_back(holder);
    }
    if (broken.empty())
        co_return false;
    change.push_back(record_of(order, std::move(broken)));
    const auto sent = link_->change(std::move(change));
    auto taking = sent->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed == zk_code::no_node)
        co_return false;  // released meanwhile
    if (answer.failed)
        co_return link_->meaning_of(answer.failed);
    co_return true;
}

// A node of the same name, but of another holder, must not be deleted. No other write than that of
// a break gives a node a version as high as the first step does, and the node of breaks tells of
// other breaks: so what has that version in the second step is the node that was looked at.
asio::awaitable<result<bool>> zookeeper_views::break_node(break_order order) {
    const auto path = link_->lock_path(order.name);
    const auto folder = link_->breaks_path();
    constexpr int attempts_max = 8;
    for (int attempt = 0; attempt < attempts_max; ++attempt) {
        const auto asked = link_->get(folder);
        parties known;
        auto seeing = see_node(order.name, known);
        const auto before = co_await std::move(seeing);
        auto taking = asked->take();
        const auto breaks = co_await std::move(taking);
        if (!before)
            co_return before.error();
        if (breaks.failed)
            co_return link_->meaning_of(breaks.failed);
        const auto& holders = before->view.holders;
        if (holders.empty() || holders.front().token != order.token)
            co_return false;
        zk_change marking;
        marking.push_back(writing_of(folder, "", breaks.stat.version));
        for (int i = 0; i < writes_of_a_break; ++i)
            marking.push_back(writing_of(path, before->note, zk_step::any_version));
        const auto marked = link_->change(std::move(marking));
        const auto asked_again = link_->get(path);
        auto taking_mark = marked->take();
        const auto mark = co_await std::move(taking_mark);
        auto taking_node = asked_again->take();
        const auto node = co_await std::move(taking_node);
        if (mark.failed == zk_code::bad_version)
            continue;
        if (mark.failed == zk_code::no_node || node.failed == zk_code::no_node)
            co_return false;  // released meanwhile
        if (mark.failed || node.failed)
            co_return link_->meaning_of(mark.failed ? mark.failed : node.failed);
        if (token_of(node) != order.token)
            co_return false;  // it is of somebody else
        zk_change erasing;
        erasing.push_back(writing_of(folder, "", breaks.stat.version + 1));
        erasing.push_back(erasure_of(path, node.stat.version));
        erasing.push_back(record_of(order, holders));
        const auto sent = link_->change(std::move(erasing));
        auto taking_end = sent->take();
        const auto answer = co_await std::move(taking_end);
        if (answer.failed == zk_code::no_node)
            co_return false;
        if (answer.failed && answer.failed != zk_code::bad_version)
            co_return link_->meaning_of(answer.failed);
        if (!answer.failed)
            co_return true;
    }
    co_return error_code(errc::database_busy);
}

// Deletes the oldest records if there are too many of them.
asio::awaitable<result<std::vector<break_record>>>
zookeeper_views::breaks(std::string name, std::size_t limit) {
    std::vector<break_record> found;
    if (!link_->has_store())
        co_return found;
    const auto folder = link_->breaks_path();
    const auto listing = link_->list(folder);
    auto taking = listing->take();
    auto listed = co_await std::move(taking);
    if (listed.failed)
        co_return link_->meaning_of(listed.failed);
    auto& nodes = listed.children;
    std::sort(nodes.rbegin(), nodes.rend());
    for (std::size_t i = breaks_kept; i < nodes.size(); ++i)
        link_->erase(folder + '/' + nodes[i]);
    for (const auto& each : nodes) {
        if (found.size() >= limit)
            break;
        const auto asked = link_->get(folder + '/' + each);
        auto reading = asked->take();
        const auto answer = co_await std::move(reading);
        auto record = answer.failed ? std::nullopt : parse_record(answer.data);
        if (record && (name.empty() || record->name == name))
            found.push_back(std::move(*record));
    }
    co_return found;
}

}  // namespace mortise::store_detail
