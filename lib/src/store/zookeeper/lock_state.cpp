// SPDX-License-Identifier: BSL-1.0
#include "store/zookeeper/lock_state.hpp"

#include "core/queue_view.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

namespace mortise::store_detail {
namespace {

constexpr lock_mode exclusive = lock_mode::exclusive();

}  // namespace

lock_state::lock_state(
    const std::vector<std::string>& children, const std::string& text, std::int32_t version
)
    : version_(version) {
    for (const auto& each : children) {
        if (auto node = parse_queue_node(each))
            nodes_.push_back(std::move(*node));
    }
    std::sort(nodes_.begin(), nodes_.end(), [](const auto& first, const auto& second) {
        return comes_before(first.number, second.number);
    });
    read(text);
}

// `PHASE NUMBER:SLOT NUMBER:SLOT ...`
void lock_state::read(const std::string& text) {
    std::istringstream words(text);
    std::uint64_t phase = 0;
    words >> phase;
    bool reads = false;
    std::uint32_t number = 0;
    std::uint32_t slot = 0;
    for (char colon = 0; words >> number >> colon >> slot;) {
        const auto node = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& each) {
            return each.number == number && each.mode != exclusive;
        });
        if (node == nodes_.end())
            continue;
        slots_[number] = slot;
        reads = reads || node->mode == lock_mode::shared();
    }
    phase_ = reads ? phase : 0;
}

std::string lock_state::text() const {
    std::ostringstream text;
    text << phase_;
    for (const auto& [number, slot] : slots_)
        text << ' ' << number << ':' << slot;
    return std::move(text).str();
}

std::size_t lock_state::place_of(const session_id& session, request_id request) const noexcept {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& each) {
        return each.is_of(session, request);
    });
    return static_cast<std::size_t>(found - nodes_.begin());
}

std::size_t lock_state::place_of(const std::string& node) const noexcept {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& each) {
        return each.name == node;
    });
    return static_cast<std::size_t>(found - nodes_.begin());
}

bool lock_state::all_exclusive() const noexcept {
    return std::all_of(nodes_.begin(), nodes_.end(), [](const auto& each) {
        return each.mode == exclusive;
    });
}

bool lock_state::holds(std::size_t place) const {
    const auto& node = nodes_[place];
    return node.mode == exclusive ? place == 0 : slots_.contains(node.number);
}

std::uint32_t lock_state::slot_of(std::size_t place) const {
    const auto found = slots_.find(nodes_[place].number);
    return found == slots_.end() ? 0 : found->second;
}

// Those who get the lock in a moment do not wait.
bool lock_state::others_wait(const session_id& session) const {
    for (std::size_t i = first_waiting(); i < nodes_.size(); ++i) {
        if (nodes_[i].session != session && !holds(i))
            return true;
    }
    return false;
}

bool lock_state::waits_first(std::size_t place) const {
    for (std::size_t i = 0; i < place && i < nodes_.size(); ++i) {
        if (!holds(i))
            return false;
    }
    return place < nodes_.size() && !holds(place);
}

std::size_t lock_state::first_waiting() const {
    const auto all = due();
    std::size_t place = 0;
    while (place < nodes_.size() &&
           (holds(place) || std::any_of(all.begin(), all.end(), [&](const auto& each) {
                return each.node.number == nodes_[place].number;
            })))
        ++place;
    return place;
}

bool lock_state::anybody_waits() const {
    return !nodes_.empty() && !holds(nodes_.size() - 1);
}

std::uint32_t
lock_state::made_by_others_since(std::uint32_t number, const session_id& session) const noexcept {
    const auto count = std::count_if(nodes_.begin(), nodes_.end(), [&](const auto& each) {
        return each.session != session && !comes_before(each.number, number);
    });
    return static_cast<std::uint32_t>(count);
}

std::uint32_t lock_state::capacity_before(std::size_t place) const noexcept {
    for (std::size_t i = 0; i < place; ++i) {
        if (nodes_[i].mode.capacity() != 0)
            return nodes_[i].mode.capacity();
    }
    return 0;
}

std::vector<lock_state::due_grant> lock_state::due() const {
    std::vector<due_grant> all;
    core::queue_view view(false);
    for (std::size_t i = 0; i < nodes_.size() && !view.closed(); ++i) {
        const auto& node = nodes_[i];
        core::queue_entry entry;
        entry.mode = node.mode;
        entry.granted = holds(i);
        entry.token = node.mode == lock_mode::shared() ? phase_ : 1;
        entry.slot = slot_of(i);
        if (view.judge(entry) != core::standing::due)
            continue;
        due_grant grant;
        grant.node = node;
        grant.slot = view.holders().free_slot(node.mode);
        grant.begins_phase =
            node.mode == lock_mode::shared() && view.holders().common_token(node.mode) == 0;
        view.admit(node.mode, 1, grant.slot);
        all.push_back(std::move(grant));
    }
    return all;
}

bool lock_state::is_due(std::size_t place) const {
    const auto all = due();
    return std::any_of(all.begin(), all.end(), [&](const auto& each) {
        return each.node.number == nodes_[place].number;
    });
}

void lock_state::remove(std::size_t place) {
    slots_.erase(nodes_[place].number);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(place));
    const bool read = std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& each) {
        return each.mode == lock_mode::shared() && slots_.contains(each.number);
    });
    phase_ = read ? phase_ : 0;
}

void lock_state::grant(const due_grant& given, std::uint64_t base) {
    slots_[given.node.number] = given.slot;
    if (given.begins_phase)
        phase_ = base;
}

}  // namespace mortise::store_detail
