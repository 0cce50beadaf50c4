// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_KEYSPACE_HPP
#define MORTISE_TESTS_REDIS_MODEL_KEYSPACE_HPP

#include "redis_model/reply.hpp"
#include "redis_model/sorted_set.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

namespace mortise::redis_model {

using hash_map = std::map<std::string, std::string>;
using member_set = std::set<std::string>;
using text_list = std::deque<std::string>;
using stored = std::variant<std::string, hash_map, member_set, text_list, sorted_set>;

struct entry {
    stored value;
    std::optional<std::int64_t> expires;  ///< In milliseconds since the epoch.
};

/// All keys of a server, and which of them the present command has changed. Also remembers the last
/// changes, up to a limit: a server that restarts with less data undoes them.
class keyspace {
public:
    using key_map = std::map<std::string, entry>;

    explicit keyspace(std::size_t undo_max = 0) : undo_max_(undo_max) {}

    /// Begins a command, or a script, at that time.
    void begin(std::int64_t now_ms);
    /// Ends it.
    /// @return the keys that it changed; together they are one change.
    std::set<std::string> end();

    std::int64_t now_ms() const noexcept { return now_ms_; }
    const key_map& keys() const noexcept { return keys_; }
    std::uint64_t changes() const noexcept { return changes_; }
    std::uint64_t expired() const noexcept { return expired_; }

    /// Null if there is no such key.
    const entry* find(const std::string& key);
    /// The same for a change: call `touch` afterwards.
    entry* open(const std::string& key);
    entry& put(const std::string& key, stored value);
    bool erase(const std::string& key);
    void touch(const std::string& key) { touched_.insert(key); }
    /// Removes all keys. Reports none of them as changed.
    void clear();
    /// Removes the expired keys.
    void expire_all();

    /// @throws refusal if the key has another type.
    template <class T>
    const T* read(const std::string& key) {
        const entry* const found = find(key);
        return found ? &as<T>(found->value) : nullptr;
    }
    template <class T>
    T* change(const std::string& key) {
        if (!read<T>(key))
            return nullptr;
        return &std::get<T>(open(key)->value);
    }
    template <class T>
    T& make(const std::string& key) {
        T* const found = change<T>(key);
        return found ? *found : std::get<T>(put(key, T()).value);
    }
    /// Removes an empty container: Redis keeps no key without content.
    template <class T>
    void drop_if_empty(const std::string& key) {
        const T* const found = read<T>(key);
        if (found && found->empty())
            erase(key);
    }

    /// Undoes the last changes, at most as many as it remembers.
    void undo(std::size_t count);

private:
    template <class T>
    static const T& as(const stored& value) {
        const T* const found = std::get_if<T>(&value);
        if (!found)
            throw refusal("WRONGTYPE Operation against a key holding the wrong kind of value");
        return *found;
    }
    void remember(const std::string& key);

    using former = std::map<std::string, std::optional<entry>>;

    const std::size_t undo_max_;
    key_map keys_;
    std::int64_t now_ms_ = 0;
    std::uint64_t changes_ = 0;
    std::uint64_t expired_ = 0;
    std::set<std::string> touched_;
    bool cleared_ = false;
    former before_;
    std::deque<former> undo_;
};

}  // namespace mortise::redis_model

#endif
