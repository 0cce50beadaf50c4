// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ZOOKEEPER_ZK_HANDLE_HPP
#define MORTISE_ZOOKEEPER_ZK_HANDLE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"
#include "zookeeper/zk_error.hpp"
#include "zookeeper/zk_socket.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct _zhandle;

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

/// A session of ZooKeeper's C client, driven by the event loop. The client connects again by
/// itself, to any of its servers, and keeps its session alive by pings of its own: that it lives
/// is no proof that its user does.
///
/// Handlers are called on the strand, never from inside the call that they belong to, in the order
/// in which the servers tell: what a watch has seen comes before the answers that already show it.
///
/// Nothing is repeated: an operation that was under way when the connection was lost ends with
/// `zk_code::connection_lost`, and its watch is not set. Other watches are set again by the client,
/// unless there are so many that a server would refuse the message: then none of them is.
///
/// @par Threads   The strand.
/// @par Lifetimes Kept alive by what it waits for, until `close`. Its user is not called any more
///                after `close`, except for the answers to what was under way.
class zk_handle final : public std::enable_shared_from_this<zk_handle> {
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
        /// The client's words on a failure; from inside of any call, to be kept only.
        std::function<void(std::string)> remembered;
    };

    zk_handle(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        config how,
        listener to
    );
    ~zk_handle();
    zk_handle(const zk_handle&) = delete;
    zk_handle& operator=(const zk_handle&) = delete;

    /// Begins to connect. Once.
    error_code open();

    void create(const std::string& path, const std::string& data, node_kind kind, replied then);
    void erase(const std::string& path, std::int32_t version, replied then);
    void set(const std::string& path, const std::string& data, std::int32_t version, replied then);
    void get(const std::string& path, bool watch, replied then);
    void list(const std::string& path, bool watch, replied then);
    /// A watch on a node that is not there waits for it to be made.
    void look(const std::string& path, bool watch, replied then);
    /// Its answer is that of the first operation that failed; or no failure, the path of the node
    /// that was made last, and what the servers know of the one that was written last.
    void change(std::vector<zk_step> steps, replied then);

    zk_state state() const noexcept;
    /// Whether an operation would be sent at once, by the connection in use.
    bool connected() const noexcept;
    /// The session's number, and its time-out as the servers have set it; zero before the first
    /// connection.
    std::int64_t session() const noexcept;
    std::chrono::milliseconds timeout() const noexcept;
    /// A time before the client began to open the present connection.
    clock::time_point connecting_since() const noexcept { return connecting_since_; }
    /// The server of the present connection, for people.
    std::string server() const;

    /// Gives up the connection, on which a server is silent: the client opens another one, to the
    /// next server. What is under way fails.
    void reconnect() noexcept { socket_.shut_down(); }

    /// Ends the connection at once, without a word: the servers end the session after its time-out.
    /// What is under way fails.
    void close() noexcept;

private:
    struct call;
    using news = std::function<void()>;

    /// A session of the C client: a new one, or that of `before`. Null: the reason is in `errno`.
    _zhandle* make_raw(_zhandle* before);
    /// Goes on with the session without any watch.
    void renew();
    /// Adds to `watch_bytes_`; a watch that then fails to be set is counted, too.
    void note_watch(bool set, const std::string& path) noexcept {
        watch_bytes_ += set ? path.size() : 0;
    }

    template <class Start>
    void start(replied then, Start begin);
    void fail_later(replied then, int code);
    /// Calls this on the strand, after all that was told before: once the client has returned, if
    /// it is in `process`, else by post.
    void tell(news handler);
    void pump();
    void pump_soon();
    void process(int events);
    void wait(int interest);
    void look_again_at(clock::time_point at);
    void note_state();

    static void on_event(_zhandle* from, int type, int state, const char* path, void* context);
    static void on_words(const char* words);

    const asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const config how_;
    const listener to_;
    _zhandle* raw_ = nullptr;
    std::unique_ptr<std::weak_ptr<zk_handle>> self_;  ///< The context of the client's callbacks.
    zk_socket socket_;
    coro::detail::alarm due_;
    clock::time_point due_at_;
    clock::time_point connecting_since_;
    std::size_t watch_bytes_ = 0;            ///< In the paths of all watches, or more.
    std::vector<news>* gathered_ = nullptr;  ///< What is told while the client is in `process`.
    std::size_t posted_ = 0;                 ///< News that are on their way.
    bool pumping_ = false;                   ///< A pump is on its way.
    bool renews_ = false;                    ///< The connection was lost, with too many watches.
    bool reading_ = false;
    bool writing_ = false;
    bool closed_ = false;
    zk_state state_ = zk_state::connecting;
    const coro::detail::fork_guard process_;
};

}  // namespace mortise::zookeeper_detail

#endif
