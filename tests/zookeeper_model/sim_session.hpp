// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_ZOOKEEPER_MODEL_SIM_SESSION_HPP
#define MORTISE_TESTS_ZOOKEEPER_MODEL_SIM_SESSION_HPP

#include "mortise/coro/detail/alarm.hpp"
#include "mortise/sim/process.hpp"
#include "zookeeper/zk_session.hpp"
#include "zookeeper_model/client_end.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise::zookeeper_model {

class sim_ensemble;
class sim_server;

/// A session at a `sim_ensemble`, as ZooKeeper's C client keeps it: pings after a third of the
/// time-out, another connection after two thirds without a word.
///
/// @par Threads The strand, in the client's process.
class sim_session final : public zookeeper_detail::zk_session,
                          public client_end,
                          public std::enable_shared_from_this<sim_session> {
public:
    sim_session(
        sim_ensemble& at,
        sim::process& client,
        boost::asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        config how,
        listener to
    );
    ~sim_session() override;
    sim_session(const sim_session&) = delete;
    sim_session& operator=(const sim_session&) = delete;

    error_code open() override;
    void
    create(const std::string& path, const std::string& data, node_kind kind, replied then) override;
    void erase(const std::string& path, std::int32_t version, replied then) override;
    void
    set(const std::string& path, const std::string& data, std::int32_t version, replied then
    ) override;
    void get(const std::string& path, bool watch, replied then) override;
    void list(const std::string& path, bool watch, replied then) override;
    void change(std::vector<zk_step> steps, replied then) override;

    zookeeper_detail::zk_state state() const noexcept override { return state_; }
    bool connected() const noexcept override {
        return state_ == zookeeper_detail::zk_state::connected;
    }
    std::int64_t session() const noexcept override { return session_; }
    std::chrono::milliseconds timeout() const noexcept override { return timeout_; }
    clock::time_point connecting_since() const noexcept override { return connecting_since_; }
    std::string server() const override;
    void reconnect() noexcept override;
    void close() noexcept override;

    void take_session(
        const connection_ptr& by, session_number session, std::chrono::milliseconds timeout
    ) override;
    void take_answer(const connection_ptr& by, zk_answer answer, zxid seen) override;
    void take_event(const connection_ptr& by, zk_event event) override;
    void take_pong(const connection_ptr& by) override;

private:
    struct pending_request {
        zk_request request;
        replied then;
    };

    void change_one(zk_step step, replied then);
    void ask(zk_request request, replied then);
    void connect();
    void lose(const connection_ptr& link, zk_code why);
    void lose_later(const connection_ptr& link);
    void look();
    void plan();
    void become(zookeeper_detail::zk_state now);
    /// Handles what has come by that connection, unless it was given up.
    void hear(const connection_ptr& by, std::function<void()> then);
    clock::duration time_limit() const noexcept;

    sim_ensemble& at_;
    sim::process& client_;
    const boost::asio::any_io_executor strand_;
    const std::shared_ptr<coro::time_source> time_;
    const config how_;
    const listener to_;
    std::vector<sim_server*> servers_;
    std::size_t next_ = 0;
    std::size_t failures_ = 0;  ///< Connections in a row that did not come about.
    sim_server* server_ = nullptr;
    connection_ptr connection_;
    std::deque<pending_request> under_way_;
    watch_table watches_;
    zxid seen_ = 0;
    session_number session_ = 0;
    std::chrono::milliseconds timeout_{0};
    clock::time_point connecting_since_;
    clock::time_point heard_;
    clock::time_point sent_;
    clock::time_point retry_at_;
    coro::detail::alarm due_;
    zookeeper_detail::zk_state state_ = zookeeper_detail::zk_state::connecting;
    bool closed_ = false;
};

}  // namespace mortise::zookeeper_model

#endif
