// SPDX-License-Identifier: BSL-1.0
#include "zookeeper_model/znode_tree.hpp"

#include <cstdio>
#include <iterator>

namespace mortise::zookeeper_model {

std::string znode_tree::parent_of(const std::string& path) {
    const auto end = path.rfind('/');
    return end == 0 ? "/" : path.substr(0, end);
}

znode_tree::node* znode_tree::find(const std::string& path) {
    const auto found = nodes_.find(path);
    return found == nodes_.end() ? nullptr : &found->second;
}

const znode_tree::node* znode_tree::find(const std::string& path) const {
    const auto found = nodes_.find(path);
    return found == nodes_.end() ? nullptr : &found->second;
}

void znode_tree::keep(const std::string& path) {
    if (!keeps_)
        return;
    const node* const present = find(path);
    before_.emplace_back(path, present ? std::optional<node>(*present) : std::nullopt);
}

void znode_tree::undo() {
    const auto forget = [this](const std::string& path, const node& gone) {
        if (gone.stat.owner != 0)
            ephemerals_[gone.stat.owner].erase(path);
    };
    for (auto each = before_.rbegin(); each != before_.rend(); ++each) {
        if (const node* const present = find(each->first))
            forget(each->first, *present);
        nodes_.erase(each->first);
        if (!each->second)
            continue;
        if (each->second->stat.owner != 0)
            ephemerals_[each->second->stat.owner].insert(each->first);
        nodes_.emplace(each->first, std::move(*each->second));
    }
    seen_.clear();
}

zk_answer znode_tree::apply(const transaction& one, std::vector<zk_event>& seen) {
    last_ = one.number;
    keeps_ = one.several;
    zk_answer answer;
    answer.failed = one.refused;
    if (answer.failed)
        return answer;
    switch (one.type) {
    case transaction::kind::open_session:
        sessions_[one.session] = one.timeout;
        break;
    case transaction::kind::close_session: {
        const auto own = ephemerals_[one.session];
        for (const auto& path : own) {
            zk_step gone;
            gone.type = zk_step::kind::erase;
            gone.path = path;
            answer.failed = erase(one, gone);
        }
        ephemerals_.erase(one.session);
        sessions_.erase(one.session);
        break;
    }
    case transaction::kind::change:
        if (!sessions_.contains(one.session))
            answer.failed = zk_code::session_expired;
        [[fallthrough]];
    case transaction::kind::erase_container:
        for (std::size_t i = 0; i < one.steps.size() && !answer.failed; ++i)
            answer.failed = step(one, one.steps[i], answer);
        break;
    }
    if (answer.failed)
        undo();
    before_.clear();
    std::move(seen_.begin(), seen_.end(), std::back_inserter(seen));
    seen_.clear();
    if (answer.failed) {
        const error_code why = answer.failed;
        answer = zk_answer();
        answer.failed = why;
    }
    return answer;
}

error_code znode_tree::step(const transaction& one, const zk_step& wish, zk_answer& answer) {
    switch (wish.type) {
    case zk_step::kind::create:
        return create(one, wish, answer);
    case zk_step::kind::erase:
        return erase(one, wish);
    case zk_step::kind::set:
        return set(one, wish, answer);
    case zk_step::kind::check:
        break;
    }
    return check(wish);
}

error_code znode_tree::create(const transaction& one, const zk_step& wish, zk_answer& answer) {
    const auto above = parent_of(wish.path);
    node* const parent = find(above);
    if (!parent)
        return zk_code::no_node;
    if (parent->stat.owner != 0)
        return zk_code::no_children_for_ephemerals;
    const bool numbered = wish.node == node_kind::persistent_sequential ||
                          wish.node == node_kind::ephemeral_sequential;
    const bool ephemeral =
        wish.node == node_kind::ephemeral || wish.node == node_kind::ephemeral_sequential;
    auto path = wish.path;
    if (numbered) {
        char number[16];
        std::snprintf(
            number, sizeof number, "%010d", static_cast<std::int32_t>(parent->stat.children_made)
        );
        path += number;
    }
    if (find(path))
        return zk_code::node_exists;
    keep(above);
    keep(path);
    node fresh;
    fresh.data = wish.data;
    fresh.container = wish.node == node_kind::container;
    fresh.stat.created = fresh.stat.modified = fresh.stat.children_changed = one.number;
    fresh.stat.created_at = fresh.stat.modified_at = one.time;
    fresh.stat.owner = ephemeral ? one.session : 0;
    if (ephemeral)
        ephemerals_[one.session].insert(path);
    ++parent->stat.children_made;
    ++parent->stat.children;
    parent->stat.children_changed = one.number;
    parent->children.insert(name_of(path));
    answer.path = path;
    // What was made alone is described; of several, what was written last.
    if (!one.several)
        answer.stat = fresh.stat;
    nodes_.emplace(path, std::move(fresh));
    see(zk_event::kind::created, path);
    see(zk_event::kind::children, above);
    return {};
}

error_code znode_tree::erase(const transaction& one, const zk_step& wish) {
    if (const error_code failed = check(wish))
        return failed;
    const node& gone = *find(wish.path);
    if (!gone.children.empty())
        return zk_code::not_empty;
    const auto above = parent_of(wish.path);
    keep(above);
    keep(wish.path);
    node& parent = *find(above);
    --parent.stat.children;
    parent.stat.children_changed = one.number;
    parent.children.erase(name_of(wish.path));
    if (gone.stat.owner != 0)
        ephemerals_[gone.stat.owner].erase(wish.path);
    nodes_.erase(wish.path);
    see(zk_event::kind::deleted, wish.path);
    see(zk_event::kind::children, above);
    return {};
}

error_code znode_tree::set(const transaction& one, const zk_step& wish, zk_answer& answer) {
    if (const error_code failed = check(wish))
        return failed;
    keep(wish.path);
    node& written = *find(wish.path);
    written.data = wish.data;
    ++written.stat.version;
    written.stat.modified = one.number;
    written.stat.modified_at = one.time;
    answer.stat = written.stat;
    see(zk_event::kind::changed, wish.path);
    return {};
}

error_code znode_tree::check(const zk_step& wish) const {
    const node* const named = find(wish.path);
    if (!named)
        return zk_code::no_node;
    if (wish.version != zk_step::any_version && wish.version != named->stat.version)
        return zk_code::bad_version;
    return {};
}

void znode_tree::see(zk_event::kind type, const std::string& path) {
    zk_event event;
    event.type = type;
    event.path = path;
    seen_.push_back(std::move(event));
}

zk_answer znode_tree::get(const std::string& path) const {
    zk_answer answer;
    if (const node* const read = find(path)) {
        answer.data = read->data;
        answer.stat = read->stat;
    } else {
        answer.failed = zk_code::no_node;
    }
    return answer;
}

zk_answer znode_tree::list(const std::string& path) const {
    auto answer = get(path);
    answer.data.clear();
    if (!answer.failed)
        answer.children.assign(find(path)->children.begin(), find(path)->children.end());
    return answer;
}

std::vector<std::string> znode_tree::empty_containers() const {
    std::vector<std::string> paths;
    for (const auto& [path, each] : nodes_) {
        if (each.container && each.children.empty() && each.stat.children_made != 0)
            paths.push_back(path);
    }
    return paths;
}

}  // namespace mortise::zookeeper_model
