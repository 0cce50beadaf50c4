// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/zookeeper_views.hpp"

#include "zookeeper/zk_error.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace mortise::store_detail {

using std::chrono::milliseconds;
using zookeeper_detail::zk_code;

asio::awaitable<result<std::vector<std::string>>> zookeeper_views::names() {
    const auto asked = link_->list(link_->locks_path());
    auto taking = asked->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed)
        co_return link_->meaning_of(answer.failed);
    std::vector<std::string> all;
    for (const auto& each : answer.children) {
        if (auto name = lock_of_node(each))
            all.push_back(std::move(*name));
    }
    std::sort(all.begin(), all.end());
    co_return all;
}

asio::awaitable<result<lock_state>> zookeeper_views::read(std::string name) {
    const auto path = link_->lock_path(name);
    for (;;) {
        const auto listing = link_->list(path);
        const auto reading = link_->get(path);
        auto taking_list = listing->take();
        const auto listed = co_await std::move(taking_list);
        auto taking_text = reading->take();
        const auto text = co_await std::move(taking_text);
        if (listed.failed == zk_code::no_node || text.failed == zk_code::no_node)
            co_return lock_state();
        if (listed.failed || text.failed)
            co_return link_->meaning_of(listed.failed ? listed.failed : text.failed);
        if (listed.stat.version == text.stat.version)
            co_return lock_state(listed.children, text.data, text.stat.version);
    }
}

// A session that ends meanwhile has no node any more, and those of its requests go with it.
asio::awaitable<result<party_view>> zookeeper_views::party_of(session_id session, parties& known) {
    const auto id = session.text();
    if (const auto found = known.find(id); found != known.end())
        co_return found->second;
    const auto asked = link_->get(link_->sessions_path() + '/' + id);
    auto taking = asked->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed && answer.failed != zk_code::no_node)
        co_return link_->meaning_of(answer.failed);
    party_view party;
    party.session = session;
    std::istringstream lines(answer.data);
    milliseconds::rep ttl = 0;
    lines >> ttl >> party.pid;
    lines.ignore();
    std::getline(lines, party.host);
    std::getline(lines, party.label);
    const milliseconds quiet = link_->server_time() - milliseconds(answer.stat.modified_at);
    party.left = std::clamp(milliseconds(ttl) - quiet, milliseconds(0), milliseconds(ttl));
    known.emplace(id, party);
    co_return party;
}

clock::duration zookeeper_views::age_of(const zk_answer& node) const {
    return std::max(milliseconds(0), link_->server_time() - milliseconds(node.stat.created_at));
}

asio::awaitable<result<zookeeper_views::sight>>
zookeeper_views::see(std::string name, std::size_t queue_max, parties& known) {
    if (link_->config().form == zookeeper_form::single_node) {
        auto seeing = see_node(std::move(name), known);
        co_return co_await std::move(seeing);
    }
    auto seeing = see_queue(std::move(name), queue_max, known);
    co_return co_await std::move(seeing);
}

// Nobody knows who waits.
asio::awaitable<result<zookeeper_views::sight>>
zookeeper_views::see_node(std::string name, parties& known) {
    const auto path = link_->lock_path(name);
    const auto asked = link_->get(path);
    auto taking = asked->take();
    const auto node = co_await std::move(taking);
    sight found;
    found.view.name = std::move(name);
    if (node.failed == zk_code::no_node)
        co_return found;
    if (node.failed)
        co_return link_->meaning_of(node.failed);
    const auto note = parse_holder_note(node.data);
    if (!note)
        co_return link_->note(errc::store_corrupt, path + " is not a lock of mortise");
    auto asking = party_of(note->session, known);
    auto party = co_await std::move(asking);
    if (!party)
        co_return party.error();
    party->age = age_of(node);
    party->token = token_of(node);
    found.view.holders.push_back(std::move(*party));
    found.note = node.data;
    co_return found;
}

asio::awaitable<result<zookeeper_views::sight>>
zookeeper_views::see_queue(std::string name, std::size_t queue_max, parties& known) {
    auto reading = read(name);
    const auto state = co_await std::move(reading);
    if (!state)
        co_return state.error();
    sight found;
    found.view.name = name;
    const auto& nodes = state->nodes();
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const bool holds = state->holds(i);
        found.view.waiter_count += holds ? 0 : 1;
        if (!holds && found.view.waiters.size() >= queue_max)
            continue;
        auto asking = party_of(nodes[i].session, known);
        auto party = co_await std::move(asking);
        if (!party)
            co_return party.error();
        const auto asked = link_->get(link_->lock_path(name) + '/' + nodes[i].name);
        auto taking = asked->take();
        const auto answer = co_await std::move(taking);
        if (answer.failed == zk_code::no_node)
            continue;  // it has ended meanwhile
        if (answer.failed)
            co_return link_->meaning_of(answer.failed);
        party->mode = nodes[i].mode;
        party->age = age_of(answer);
        if (!holds) {
            found.view.waiters.push_back(std::move(*party));
            continue;
        }
        const bool reads = nodes[i].mode == lock_mode::shared();
        const auto base = reads ? state->phase() : answer.stat.created;
        party->slot = state->slot_of(i);
        party->token = {base << fencing_token::sequence_bits, link_->domain().of_slot(party->slot)};
        found.view.holders.push_back(std::move(*party));
        found.holders.push_back(nodes[i].name);
    }
    co_return found;
}

asio::awaitable<result<std::vector<lock_view>>>
zookeeper_views::list(std::string after, std::size_t limit, std::size_t queue_max) {
    std::vector<lock_view> views;
    if (!link_->has_store())
        co_return views;
    auto naming = names();
    const auto all = co_await std::move(naming);
    if (!all)
        co_return all.error();
    parties known;
    for (auto at = std::upper_bound(all->begin(), all->end(), after);
         at != all->end() && views.size() < limit;
         ++at) {
        auto seeing = see(*at, queue_max, known);
        auto found = co_await std::move(seeing);
        if (!found)
            co_return found.error();
        if (!found->view.holders.empty() || found->view.waiter_count != 0)
            views.push_back(std::move(found->view));
    }
    co_return views;
}

asio::awaitable<result<std::optional<lock_view>>>
zookeeper_views::inspect(std::string name, std::size_t queue_max) {
    std::optional<lock_view> view;
    if (!link_->has_store())
        co_return view;
    parties known;
    auto seeing = see(std::move(name), queue_max, known);
    auto found = co_await std::move(seeing);
    if (!found)
        co_return found.error();
    if (!found->view.holders.empty() || found->view.waiter_count != 0)
        view = std::move(found->view);
    co_return view;
}

// A lock may change after the call and before the watch on it is set. The number of the write that
// comes first tells that.
asio::awaitable<error_code> watch_all(std::shared_ptr<zookeeper_link> link) {
    const auto folder = link->locks_path();
    link->begin_to_watch();
    const auto begun = link->write_session();
    const auto asked = link->list(folder, true);
    auto taking = asked->take();
    const auto answer = co_await std::move(taking);
    if (answer.failed)
        co_return link->meaning_of(answer.failed);
    auto beginning = begun->take();
    const auto beginning_answer = co_await std::move(beginning);
    if (beginning_answer.failed)
        co_return link->meaning_of(beginning_answer.failed);
    if (answer.stat.children_changed > beginning_answer.stat.modified)
        link->tell_changed();
    if (link->config().form == zookeeper_form::single_node)
        co_return error_code();
    std::vector<zk_reply_ptr> replies;
    for (const auto& each : answer.children)
        replies.push_back(link->list(folder + '/' + each, true));
    for (const auto& each : replies) {
        auto listing = each->take();
        const auto listed = co_await std::move(listing);
        if (listed.failed && listed.failed != zk_code::no_node)
            co_return link->meaning_of(listed.failed);
        if (listed.stat.children_changed > beginning_answer.stat.modified)
            link->tell_changed();
    }
    co_return error_code();
}

}  // namespace mortise::store_detail
