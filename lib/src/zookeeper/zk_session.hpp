// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ZOOKEEPER_ZK_SESSION_HPP
#define MORTISE_ZOOKEEPER_ZK_SESSION_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/error.hpp"
#include "zookeeper/zk_error.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mortise::zookeeper_detail {

/// What the servers know of a node. Transactions of an ensemble have growing numbers: its epoch in
/// the upper half, and a count in the lower.
struct node_stat {
    std::uint64_t created = 0;           ///< The transaction that made it (czxid).
    std::uint64_t modified = 0;          ///< The last one that wrote its data (mzxid).
    std::uint64_t children_changed = 0;  ///< The last one that made or deleted a child (pzxid).
    std::int64_t created_at = 0;         ///< In milliseconds of the servers' time of day.
    std::int64_t modified_at = 0;        ///< Likewise.
    std::int32_t version = 0;            ///< Of its data.
    std::uint32_t children_made = 0;     ///< How many children were made of it so far.
    std::int64_t owner = 0;              ///< The session of an ephemeral node.
    std::int32_t children = 0;
};

enum class node_kind : std::uint8_t {
    persistent,
    persistent_sequential,
    ephemeral,             ///< Ends with its session.
    ephemeral_sequential,  ///< Likewise; a number that grows is added to its name.
    container,             ///< The servers delete it some time after its last child.
};

/// The answer to an operation.
struct zk_answer {
    error_code failed;
    std::string path;  ///< Of a node that was made: with its number.
    std::string data;
    std::vector<std::string> children;
    node_stat stat;
};

/// One operation of several that are done as one, or none of them.
struct zk_step {
    enum class kind : std::uint8_t { create, erase, set, check };

    static constexpr std::int32_t any_version = -1;

    kind type = kind::check;
    std::string path;
    std::string data;
    node_kind node = node_kind::persistent;
    std::int32_t version = any_version;
};

/// What a watch has seen. It is gone by then, except for the news of a session.
struct zk_event {
    enum class kind : std::uint8_t { created, deleted, changed, children };

    kind type = kind::changed;
    std::string path;
};

/// How a session stands, as far as the client knows. It does not hear of an expiry before it is
/// connected again.
enum class zk_state : std::uint8_t { connecting, connected, expired, refused };

/// A session of ZooKeeper. It connects again by itself, to any of its servers, and is kept alive by
/// pings of its own: that it lives is no proof that its user does.
///
/// Handlers are called on the strand, never from inside the call that they belong to, in the order
/// in which the servers tell: what a watch has seen comes before the answers that already show it.
///
/// Nothing is repeated: an operation that was under way when the connection was lost ends with
/// `zk_code::connection_lost`, and its watch is not set. Other watches are set again, unless there
/// are so many that a server would refuse the message: then none of them is.
///
/// @par Threads   The strand.
/// @par Lifetimes Its user is not called any more after `close`, except for the answers to what was
///                under way.
class zk_session {
public:
    using replied = std::function<void(zk_answer)>;

    struct config {
        /// Numeric addresses, `10.0.0.1:2181,10.0.0.2:2181/chroot`: names would be looked up in the
        /// middle of the event loop.
        std::string servers;
        std::chrono::milliseconds timeout{0};  ///< Asked for; the servers have the last word.
        /// `USER:PASSWORD` for digest authentication: nobody else may touch what is made. Empty:
        /// everybody may.
        std::string login;
    };
    struct listener {
        std::function<void(zk_state)> changed;
        std::function<void(const zk_event&)> seen;
        /// Words on a failure; from inside of any call, to be kept only.
        std::function<void(std::string)> remembered;
    };

    virtual ~zk_session() = default;
    zk_session(const zk_session&) = delete;
    zk_session& operator=(const zk_session&) = delete;

    /// Begins to connect. Once.
    virtual error_code open() = 0;

    virtual void
    create(const std::string& path, const std::string& data, node_kind kind, replied then) = 0;
    virtual void erase(const std::string& path, std::int32_t version, replied then) = 0;
    virtual void
    set(const std::string& path, const std::string& data, std::int32_t version, replied then) = 0;
    virtual void get(const std::string& path, bool watch, replied then) = 0;
    virtual void list(const std::string& path, bool watch, replied then) = 0;
    /// Its answer is that of the first operation that failed; or no failure, the path of the node
    /// that was made last, and what the servers know of the one that was written last.
    virtual void change(std::vector<zk_step> steps, replied then) = 0;

    virtual zk_state state() const noexcept = 0;
    /// Whether an operation would be sent at once, by the connection in use.
    virtual bool connected() const noexcept = 0;
    /// The session's number, and its time-out as the servers have set it; zero before the first
    /// connection.
    virtual std::int64_t session() const noexcept = 0;
    virtual std::chrono::milliseconds timeout() const noexcept = 0;
    /// A time before the present connection began to be opened.
    virtual clock::time_point connecting_since() const noexcept = 0;
    /// The server of the present connection, for people.
    virtual std::string server() const = 0;

    /// Gives up the connection, on which a server is silent, for another one to the next server.
    /// What is under way fails.
    virtual void reconnect() noexcept = 0;

    /// Ends the connection at once, without a word: the servers end the session after its time-out.
    /// What is under way fails.
    virtual void close() noexcept = 0;

protected:
    zk_session() = default;
};

}  // namespace mortise::zookeeper_detail

#endif
