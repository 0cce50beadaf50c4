// SPDX-License-Identifier: BSL-1.0
#include "redis_model/keyspace.hpp"

#include <vector>

namespace mortise::redis_model {

void keyspace::begin(std::int64_t now_ms) {
    now_ms_ = now_ms;
}

std::set<std::string> keyspace::end() {
    if (std::exchange(cleared_, false) || !touched_.empty()) {
        ++changes_;
        if (undo_max_ != 0) {
            undo_.push_back(std::exchange(before_, {}));
            if (undo_.size() > undo_max_)
                undo_.pop_front();
        }
    }
    before_.clear();
    return std::exchange(touched_, {});
}

const entry* keyspace::find(const std::string& key) {
    const auto found = keys_.find(key);
    if (found == keys_.end())
        return nullptr;
    if (found->second.expires && *found->second.expires < now_ms_) {
        erase(key);
        ++expired_;
        return nullptr;
    }
    return &found->second;
}

entry* keyspace::open(const std::string& key) {
    if (!find(key))
        return nullptr;
    remember(key);
    return &keys_.find(key)->second;
}

entry& keyspace::put(const std::string& key, stored value) {
    remember(key);
    entry& target = keys_[key];
    target.value = std::move(value);
    return target;
}

bool keyspace::erase(const std::string& key) {
    remember(key);
    touch(key);
    return keys_.erase(key) != 0;
}

void keyspace::clear() {
    for (const auto& [name, held] : keys_)
        remember(name);
    keys_.clear();
    cleared_ = true;
}

void keyspace::expire_all() {
    std::vector<std::string> names;
    for (const auto& [name, held] : keys_) {
        if (held.expires)
            names.push_back(name);
    }
    for (const auto& each : names)
        find(each);
}

void keyspace::remember(const std::string& key) {
    if (undo_max_ == 0)
        return;
    const auto found = keys_.find(key);
    before_.try_emplace(
        key, found == keys_.end() ? std::nullopt : std::optional<entry>(found->second)
    );
}

void keyspace::undo(std::size_t count) {
    for (; count != 0 && !undo_.empty(); --count) {
        for (auto& [key, was] : undo_.back()) {
            if (was)
                keys_[key] = std::move(*was);
            else
                keys_.erase(key);
        }
        undo_.pop_back();
    }
}

}  // namespace mortise::redis_model
