// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_ZOOKEEPER_ZK_HANDLE_HPP
#define MORTISE_ZOOKEEPER_ZK_HANDLE_HPP

#include "mortise/coro/clock.hpp"
#include "mortise/coro/detail/alarm.hpp"
#include "mortise/coro/detail/fork_guard.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/error.hpp"
#include "zookeeper/zk_session.hpp"
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

/// A session of ZooKeeper's C client, driven by the event loop.
///
/// @par Threads   The strand.
/// @par Lifetimes Kept alive by what it waits for, until `close`.
class zk_handle final : public zk_session, public std::enable_shared_from_this<zk_handle> {
public:
    zk_handle(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        config how,
        listener to
    );
    ~zk_handle() override;
    zk_handle(const zk_handle&) = delete;
    zk_handle& operator=(const zk_handle&) = delete;

    error_code open() override;

    void
    create(const std::string& path, const std::string& data, node_kind kind, replied then) override;
    void erase(const std::string& path, std::int32_t version, replied then) override;
    void
    set(const std::string& path, const std::string& data, std::int32_t version, replied then
    ) override;
    void get(const std::string& path, bool watch, replied then) override;
    void list(const std::string& path, bool watch, replied then) override;
    /// A watch on a node that is not there waits for it to be made.
    void look(const std::string& path, bool watch, replied then);
    void change(std::vector<zk_step> steps, replied then) override;

    zk_state state() const noexcept override;
    bool connected() const noexcept override;
    std::int64_t session() const noexcept override;
    std::chrono::milliseconds timeout() const noexcept override;
    clock::time_point connecting_since() const noexcept override { return connecting_since_; }
    std::string server() const override;

    void reconnect() noexcept override { socket_.shut_down(); }
    void close() noexcept override;

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
