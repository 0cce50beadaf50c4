// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_STORE_KEYS_HPP
#define MORTISE_STORE_REDIS_STORE_KEYS_HPP

#include <string>
#include <string_view>
#include <vector>

namespace mortise::store_detail {

/// The keys of a store of the queue form, in the order in which its scripts expect them. All have
/// the prefix in braces: in a cluster they lie in one slot. Sessions go by their short names.
///
/// Each key is a letter behind the prefix, with a name behind it where there are several:
/// * s the table of sessions, n what people want to know of them, d their deadlines, u their TTLs;
/// * e the index of a session, i its inbox, which is a channel;
/// * l a lock, o its long queue, h its crowd of holders, f their free slots;
/// * x the ends of grants, y the blocked locks, w the watchers, b the records of breaks;
/// * id the record of the store.
///
/// @par Threads Any: nothing changes.
class store_keys {
public:
    using list = std::vector<std::string>;

    explicit store_keys(const std::string& prefix) : prefix_(prefix), begin_('{' + prefix + '}') {}

    /// A key that belongs to no session and no lock, such as "id".
    std::string of(std::string_view kind) const { return begin_ + std::string(kind); }
    /// A key that is never there. While a slot is being moved, a node refuses each script that
    /// names it, before its first write; otherwise it would refuse the write of a key that the
    /// script itself has emptied.
    std::string never() const { return of("-"); }
    std::string inbox(std::string_view session) const { return with("i:", session); }

    /// For the short ways: the table of sessions, the index of a session, the lock.
    list brief(std::string_view session, std::string_view lock) const;
    /// The table of sessions and the index of a session.
    list own(std::string_view session) const;
    /// For the rules: as `own`, deadlines, ends of grants, watchers, blocked locks. Locks follow.
    list rules(std::string_view session) const;
    /// As `rules`, and what describes the sessions and the store.
    list all(std::string_view session) const;
    /// Adds a lock: its text, its long queue, its crowd of holders, their free slots.
    void add_lock(list& to, std::string_view lock) const;
    std::string index(std::string_view session) const { return with("e:", session); }
    std::string lock(std::string_view name) const { return with("l:", name); }
    std::string crowd(std::string_view lock) const { return with("h:", lock); }
    std::string queue(std::string_view lock) const { return with("o:", lock); }

    /// The record of a store of format 1, which had no braces.
    std::string old_record() const { return prefix_ + "id"; }
    /// For the take-over of a store of format 1.
    list migration() const;

private:
    std::string with(std::string_view kind, std::string_view name) const;

    const std::string prefix_;
    const std::string begin_;
};

}  // namespace mortise::store_detail

#endif
