// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_TYPES_HPP
#define MORTISE_STORE_TYPES_HPP

// The values that travel over the port of `store.hpp`.

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "mortise/fencing_token.hpp"
#include "mortise/lock_mode.hpp"

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise {

/// 128 random bits: the name of a session, a store or an incarnation of a store.
struct random_id {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    /// Drawn from the kernel's random numbers.
    static random_id draw();
    /// 32 lower-case hexadecimal digits.
    std::string text() const;

    constexpr explicit operator bool() const noexcept { return high != 0 || low != 0; }
    friend auto operator<=>(const random_id&, const random_id&) noexcept = default;
};

/// One process (more exactly: one `lock_client`) at one store, alive by its heartbeat.
using session_id = random_id;

/// One wish for a lock: a number that its session never uses twice.
using request_id = std::uint64_t;

/// The number of a proof of life: what is proved, doubted and lost together at a store. A store at
/// one server has the number 0 only; one at several servers, which fail one at a time, has a number
/// for each of them, or for each set of them that grants together.
using proof_number = std::uint32_t;

/// The abilities and the promises of a store.
struct store_traits {
    std::string_view scheme;  ///< "memory", "sqlite", ...
    token_strength strength = token_strength::none;
    bool push = false;  ///< A grant is pushed to its waiter.
    /// Requests are granted in the order of their arrival.
    bool fair = false;
    /// Deadlines are judged by a clock of the store's own.
    bool server_clock = false;
    bool exclusive = true;  ///< Knows this mode; likewise the next two.
    bool shared = false;
    bool permits = false;
    bool hold_max = false;  ///< Frees a grant after `lock_request::hold_max`.
    bool extend = false;    ///< Can change that time of a grant (`store::extend`).
    /// Knows the sessions: one that is gone is refused from then on, and lists show who holds. If
    /// false, only the client itself knows its session.
    bool sessions = true;
    bool waiters = true;  ///< Lists show how many wait and, with `sessions`, who.
    /// Lives at a server, which may be away for a while: waiters for a lock wait for it, too.
    bool remote = false;
    /// If it may have forgotten grants, makes no new ones before the longest TTL has passed.
    bool quarantine = true;
    bool records = true;  ///< Records broken locks, and tells watchers of changes.
    /// `store::release_and_request` is one step. If not, the client makes the two calls itself.
    bool release_and_request = false;
    /// `store::request_in_order` is one step. If not, the client makes its requests one by one.
    bool request_in_order = false;
    bool counts = true;                    ///< Heartbeats tell how many entries the session has.
    std::chrono::milliseconds ttl_min{0};  ///< Smallest TTL of a session.
    std::chrono::milliseconds ttl_max{0};  ///< Largest TTL of a session.

    friend bool operator==(const store_traits&, const store_traits&) noexcept = default;
};

struct session_start {
    session_start() = default;

    proof_number number = 0;  ///< Each number has a session of its own.
    session_id id;
    std::uint64_t generation = 0;  ///< Grows with every `resume` of the same session.
    std::chrono::milliseconds ttl{0};
    std::string host;      ///< For people only: no decision depends on it.
    std::string label;     ///< For people only.
    std::int64_t pid = 0;  ///< For people only.
};

/// A request or a grant of the client's own session, as the store has it.
struct session_entry {
    session_entry() = default;

    request_id id = 0;
    std::string name;
    bool granted = false;
    proof_number number = 0;  ///< Of a grant: as `answer::number`.
    fencing_token token;      ///< Of the grant; empty while it waits.
    std::uint32_t slot = 0;   ///< As `answer::slot`.
    bool contended = false;   ///< Of a grant: whether another session waits for the lock.
    clock::duration age{};    ///< Of a grant: for how long the store has had it.
    /// Of a grant: for how long the store keeps it, counted from its beginning.
    std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();
};

struct session_view {
    session_view() = default;

    std::uint64_t changes = 0;  ///< The change number that belongs to `entries`.
    std::vector<session_entry> entries;
};

struct resumed {
    resumed() = default;

    clock::time_point sent;                 ///< Read before the proof was sent.
    std::optional<clock::time_point> base;  ///< As `heartbeat::base`.
    /// Changes when the store may have forgotten something.
    random_id incarnation;
    token_domain domain;
    /// The change number; a store may leave the entries to a look.
    session_view view;
    /// For how long nothing is granted yet, because the store may have forgotten who holds a lock.
    clock::duration quarantine{};
};

struct lock_request {
    lock_request() = default;

    request_id id = 0;
    std::string name;
    lock_mode mode;
    /// The store frees the grant after this time, even if the session lives.
    std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();
    /// Join the queue if the lock is not free; else refuse.
    bool queue = true;
};

struct answer {
    enum class kind : std::uint8_t { granted, queued, refused };

    kind type = kind::refused;
    fencing_token token;  ///< If granted.
    /// If granted: the proof that keeps the grant. It is lost with the session of that number.
    proof_number number = 0;
    std::uint32_t slot = 0;  ///< If a permit was granted: which one, from 1 to the capacity.
    /// If queued: how many stand before it, holders included. An estimate that is never too low:
    /// a waiter that left the middle of the queue is still counted.
    std::uint64_t position = 0;
    /// Whether another session waits for the lock.
    bool contended = false;
};

/// The outcomes of `store::request_in_order`, of those requests that were made.
using answers_in_order = std::vector<result<answer>>;

/// The store's yes to a request.
struct grant {
    grant() = default;

    request_id id = 0;
    std::string name;
    fencing_token token;
};

/// The outcomes of `store::release_and_request`: each as its own call would report it.
struct released_and_asked {
    released_and_asked() = default;
    released_and_asked(result<bool> first, result<answer> second)
        : released(std::move(first)), asked(std::move(second)) {}
    /// Both failed, or what happened is unknown.
    explicit released_and_asked(error_code why) : released(why), asked(why) {}

    result<bool> released;
    result<answer> asked;
};

/// Consecutive tokens that belong to one grant: `first`, `first + 1`, and so on.
struct token_range {
    fencing_token first;
    std::uint64_t count = 0;
};

struct heartbeat {
    clock::time_point sent;  ///< Read before the heartbeat was sent: the next is due by it.
    /// From when on the store has kept the session for a TTL: the deadline counts from there. Empty
    /// if from `sent`; earlier where an answer proves only the heartbeat before it (ZooKeeper).
    std::optional<clock::time_point> base;
    random_id incarnation;
    /// Grows when an entry of the session changes and no answer tells it so: because of another
    /// session, or because a request that waited was granted.
    std::uint64_t changes = 0;
    /// The grants and the waiting requests that the store has for this session; meaningless
    /// without `store_traits::counts`.
    std::uint64_t grants = 0;
    std::uint64_t requests = 0;
    /// Time until the next deadline of another session, or of a grant that has one of its own. When
    /// it passes, a client that waits for a lock must beat again. Empty if there is none.
    std::optional<clock::duration> next_deadline;
    clock::duration quarantine{};  ///< As `resumed::quarantine`.
};

/// An event that the store tells its client. All but `session_lost` are hints.
struct store_event {
    enum class kind : std::uint8_t {
        granted,  ///< `id` was granted with `token`.
        /// Another session began to wait for the lock of grant `id`, or tried to get it.
        contended,
        session_lost,  ///< The session is gone, because of `why`.
        /// Something of this session changed: call `look`. With `id` and `change`: the grant `id`
        /// was taken away, and nothing else has changed.
        look_again,
        /// The store may have forgotten something: nothing is sure before the next heartbeat.
        unsure,
        changed,  ///< A lock of the store changed since `watch` was called.
    };

    kind type = kind::look_again;
    /// Of `granted` as `answer::number`; of `session_lost`, `look_again` and `unsure` the session
    /// that is meant.
    proof_number number = 0;
    request_id id = 0;
    fencing_token token;
    std::uint32_t slot = 0;  ///< As `answer::slot`.
    bool contended = false;  ///< As `answer::contended`.
    /// The change number of the session after what is told here; zero if the store does not say. An
    /// event with the number after the last known one makes up for a `look`.
    std::uint64_t change = 0;
    error_code why;
};

/// A holder or a waiter of a lock, for people to read.
struct party_view {
    party_view() = default;

    session_id session;
    std::string host;
    std::string label;
    std::int64_t pid = 0;
    lock_mode mode;
    std::chrono::milliseconds hold_max = std::chrono::milliseconds::max();
    fencing_token token;     ///< Of a holder; empty while waiting.
    std::uint32_t slot = 0;  ///< As `answer::slot`.
    clock::duration age{};   ///< How long it has held, or has waited.
    /// How much longer the store keeps it if no further heartbeat comes, and of a holder no longer
    /// than its `hold_max`; the maximum if it has no end.
    clock::duration left = clock::duration::max();
};

struct lock_view {
    lock_view() = default;

    std::string name;
    std::vector<party_view> holders;
    std::vector<party_view> waiters;  ///< The first of the queue, in order.
    std::uint64_t waiter_count = 0;   ///< Zero where the store does not know who waits.
};

/// An order to take a lock from its holder by force.
struct break_order {
    break_order() = default;

    std::string name;
    fencing_token token;  ///< Of the grant to break.
    std::string who;      ///< For the record: host, process, label of the one who gives the order.
    std::string why;      ///< For the record.
};

/// A lock that was taken from its holder by force, as the store recorded it.
struct break_record {
    break_record() = default;

    std::chrono::system_clock::time_point at;  ///< For people only.
    std::string name;
    fencing_token token;  ///< Of the grant that was broken.
    std::string holder;   ///< Who held it: host, process, label.
    std::string who;      ///< Who broke it.
    std::string why;
};

/// One finding of a store that examined itself.
struct store_finding {
    enum class verdict : std::uint8_t {
        holds,
        weak,    ///< Works, with a promise that is not kept in every case.
        broken,  ///< Must be mended before the store can be used.
    };

    store_finding() = default;

    verdict judgement = verdict::holds;
    std::string subject;  ///< The subject of the check, in a few words.
    std::string found;    ///< The state of it and, if that is not good, the remedy: a sentence.
};

}  // namespace mortise

#endif
