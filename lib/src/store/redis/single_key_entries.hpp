// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_SINGLE_KEY_ENTRIES_HPP
#define MORTISE_STORE_REDIS_SINGLE_KEY_ENTRIES_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/store_types.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// A request or a grant of a session in the single-key form.
struct single_key_entry {
    enum class stage : std::uint8_t {
        asking,      ///< Its first attempt is not answered yet.
        unanswered,  ///< The answer was lost: it is asked for again, or withdrawn.
        waiting,     ///< Stands in the line of its lock.
        held,
        leaving,  ///< Its release or its withdrawal has begun.
    };

    single_key_entry() = default;

    std::string name;
    stage at = stage::asking;
    fencing_token token;  ///< Set while it is held.
    clock::time_point since;
    bool contended = false;
    bool maybe_set = false;   ///< The key may hold the value of this request.
    std::uint64_t drawn = 0;  ///< How many blocks of marks were drawn for it.
};

/// The requests and grants of one session in the single-key form; only this client knows them. No
/// clock, no I/O.
class single_key_entries {
public:
    /// Forgets all, because another session begins.
    void begin_session() noexcept;
    void clear() noexcept { entries_.clear(); }

    /// Null if there is none.
    single_key_entry* find(request_id id) noexcept;
    single_key_entry& at(request_id id) { return entries_.at(id); }
    single_key_entry& add(request_id id, const std::string& name);
    void erase(request_id id) noexcept { entries_.erase(id); }
    /// Erases a grant that is gone from the server.
    void lose(request_id id) noexcept;
    answer granted(request_id id, const fencing_token& token, clock::time_point now);

    /// Whether no request of the session had an id as large as this one.
    bool is_newest(request_id id) const noexcept { return id > newest_; }
    /// The answer to a request that is sent again.
    static answer again(const single_key_entry& entry);

    /// The requests whose keys may be at the server.
    std::vector<request_id> maybe_set() const;
    /// Those of them that must be renewed, including those that may have been set just now: when
    /// the client learns of such a grant, it takes each heartbeat that was sent after the attempt
    /// as a proof of it.
    std::vector<request_id> to_renew() const;

    /// Adds what a heartbeat tells of the session.
    void describe(heartbeat& reply) const noexcept;
    session_view view(clock::time_point now) const;
    /// The grant of `session` that wrote `value` at the key of `name`; null if none did.
    const single_key_entry*
    own(const session_id& session, const std::string& name, const std::string& value) const;

private:
    std::map<request_id, single_key_entry> entries_;
    std::uint64_t changes_ = 0;
    request_id newest_ = 0;
};

}  // namespace mortise::store_detail

#endif
