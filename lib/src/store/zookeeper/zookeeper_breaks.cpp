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
    parties known;
    auto seeing = see(order.name, 0, known);
    const auto found = co_await std::move(seeing);
    if (!found)
        co_return found.error();
    std::vector<zk_step> steps;
    std::vector<party_view> broken;
    for (std::size_t i = 0; i < found->holders.size(); ++i) {
        const auto& holder = found->view.holders[i];
        if (holder.token != order.token)
            continue;
        zk_step erase;
        erase.type = zk_step::kind::erase;
        erase.path = link_->lock_path(order.name) + '/' + found->holders[i];
        steps.push_back(std::move(erase));
        broken.push_back(holder);
    }
    if (broken.empty())
        co_return false;
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
    steps.push_back(std::move(create));
    const auto sent = link_->change(std::move(steps));
    auto taking = sent->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed == zk_code::no_node)
        co_return false;  // released meanwhile
    if (answer.failed)
        co_return link_->meaning_of(answer.failed);
    auto pruning = breaks("", 0);
    co_await std::move(pruning);
    co_return true;
}

// Deletes the oldest records if there are too many of them.
asio::awaitable<result<std::vector<break_record>>>
zookeeper_views::breaks(std::string name, std::size_t limit) {
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
    std::vector<break_record> found;
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
