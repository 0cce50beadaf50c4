// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SQL_MODEL_SIM_GATEWAY_HPP
#define MORTISE_TESTS_SQL_MODEL_SIM_GATEWAY_HPP

#include "mortise/sim/rpc.hpp"
#include "sql_model/sim_sql.hpp"
#include "store/sql/sql_gateway.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace mortise::sql_model {

/// The gateway of one client of a `sim_sql`.
class sim_gateway final : public store_detail::sql_gateway,
                          public std::enable_shared_from_this<sim_gateway> {
public:
    sim_gateway(sim::process& self, std::shared_ptr<sim_database> base, clock::duration call_max)
        : self_(self), base_(std::move(base)), call_max_(call_max), locker_(base_->next_locker()) {}

    store_traits traits() const noexcept override;
    void start(
        asio::any_io_executor strand,
        std::shared_ptr<coro::time_source> time,
        push_function pushed,
        std::function<void()> closed
    ) override;
    asio::awaitable<error_code> connect() override { co_return error_code(); }
    void close() noexcept override {}
    asio::awaitable<result<store_detail::sql_proof>> prove(session_start start) override;
    asio::awaitable<result<store_detail::sql_beat>> beat(store_detail::sql_actor actor) override;
    asio::awaitable<result<bool>> mark_dead(session_key key) override;
    asio::awaitable<error_code> end(store_detail::sql_actor actor) override;
    asio::awaitable<error_code> forget(session_key key) override;
    asio::awaitable<result<store_detail::sql_taken>> take(
        store_detail::sql_actor actor,
        std::string name,
        request_id id,
        bool join,
        store_detail::sql_stamp stamp
    ) override;
    asio::awaitable<result<bool>> release(
        store_detail::sql_actor actor,
        std::string name,
        request_id id,
        std::uint64_t base,
        store_detail::sql_stamp stamp
    ) override;
    asio::awaitable<result<bool>> pass_on(
        store_detail::sql_actor actor,
        std::string name,
        request_id id,
        std::uint64_t base,
        store_detail::sql_stamp stamp
    ) override;
    asio::awaitable<result<store_detail::sql_left>> withdraw(
        store_detail::sql_actor actor,
        std::string name,
        request_id id,
        std::uint64_t ordinal,
        store_detail::sql_stamp stamp
    ) override;
    asio::awaitable<result<store_detail::sql_lock>>
    load(store_detail::sql_actor actor, std::string name, store_detail::row_lock mode) override;
    asio::awaitable<result<bool>> store(store_detail::sql_lock_change change) override;
    asio::awaitable<result<store_detail::sql_entries>>
    entries(session_key key, std::size_t limit) override;
    asio::awaitable<result<std::vector<store_detail::sql_lock>>>
    list(std::string after, std::size_t limit) override;
    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override;
    asio::awaitable<error_code> watch(store_detail::sql_actor actor) override;
    asio::awaitable<result<std::vector<store_finding>>> examine() override;

private:
    /// A transaction at the server.
    template <class R>
    using work = std::function<result<R>(sim_database&)>;
    struct nothing {};

    template <class R>
    asio::awaitable<result<R>> ask(work<R> transaction);
    asio::awaitable<error_code> acknowledged(std::function<error_code(sim_database&)> change);
    asio::awaitable<result<store_detail::sql_lock>>
    load_locked(store_detail::sql_actor actor, std::string name);
    sql_tables::notify_function listener();

    sim::process& self_;
    std::shared_ptr<sim_database> base_;
    const clock::duration call_max_;
    const std::uint64_t locker_;
    push_function pushed_;
    std::map<std::string, std::uint64_t> row_loads_;  ///< The newest one of each lock.
    std::uint64_t row_load_ = 0;
};

}  // namespace mortise::sql_model

#endif
