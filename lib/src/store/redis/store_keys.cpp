// SPDX-License-Identifier: BSL-1.0
#include "store/redis/store_keys.hpp"

namespace mortise::store_detail {

std::string store_keys::with(std::string_view kind, std::string_view name) const {
    std::string key;
    key.reserve(begin_.size() + kind.size() + name.size());
    key += begin_;
    key += kind;
    key += name;
    return key;
}

store_keys::list store_keys::own(std::string_view session) const {
    list keys;
    keys.reserve(10);
    keys.push_back(of("s"));
    keys.push_back(index(session));
    return keys;
}

store_keys::list store_keys::brief(std::string_view session, std::string_view lock) const {
    list keys = own(session);
    keys.push_back(with("l:", lock));
    return keys;
}

store_keys::list store_keys::rules(std::string_view session) const {
    list keys = own(session);
    for (const char* const each : {"d", "x", "w", "y"})
        keys.push_back(of(each));
    return keys;
}

store_keys::list store_keys::all(std::string_view session) const {
    list keys = rules(session);
    for (const char* const each : {"n", "u", "id"})
        keys.push_back(of(each));
    return keys;
}

void store_keys::add_lock(list& to, std::string_view lock) const {
    for (const char* const kind : {"l:", "o:", "h:", "f:"})
        to.push_back(with(kind, lock));
}

store_keys::list store_keys::migration() const {
    list keys;
    for (const char* const each : {"s", "u", "id", "b"})
        keys.push_back(of(each));
    for (const char* const each : {"id", "t", "u", "m", "d", "b"})
        keys.push_back(prefix_ + each);
    return keys;
}

}  // namespace mortise::store_detail
