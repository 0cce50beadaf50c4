// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_REDIS_MODEL_SIM_WIRE_HPP
#define MORTISE_TESTS_REDIS_MODEL_SIM_WIRE_HPP

#include "mortise/coro/detail/wait_list.hpp"
#include "redis_model/sim_endpoint.hpp"
#include "store/redis/redis_wire.hpp"
#include "support/tcp_inbox.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::redis_model {

/// A client's end of a connection to a simulated server.
///
/// @par Threads The strand, in the client's process.
class sim_wire final : public store_detail::redis_wire,
                       public std::enable_shared_from_this<sim_wire> {
public:
    sim_wire(
        std::shared_ptr<sim_endpoint> server, sim::process& client, asio::any_io_executor strand
    );
    ~sim_wire() override;

    asio::awaitable<store_detail::redis_failure> open(store_detail::redis_wire_events&) override;
    asio::awaitable<store_detail::redis_failure> subscribe(std::string channel) override;
    asio::awaitable<result<store_detail::redis_value>> call(store_detail::redis_command) override;
    void close() noexcept override;

    /// Whether it still accepts messages.
    bool takes_messages() const noexcept { return state_ != state::ended; }
    void arrived(std::uint64_t number, server_message message);
    void was_reset();

private:
    enum class state : std::uint8_t { fresh, opening, open, ended };
    using answers = coro::detail::wait_list<store_detail::redis_value>;

    asio::awaitable<result<store_detail::redis_value>> ask(client_message message);
    static void start(answers::completion_type done, sim_wire* self, client_message message);
    void send(client_message message);
    void take(server_message message);
    void end() noexcept;
    void reset_now();

    const std::shared_ptr<sim_endpoint> server_;
    sim::process& client_;
    const asio::any_io_executor strand_;
    const connection_id id_;
    state state_ = state::fresh;
    store_detail::redis_wire_events* events_ = nullptr;
    std::uint64_t sent_ = 0;
    test::tcp_inbox<server_message> inbox_;
    answers waiting_;
};

}  // namespace mortise::redis_model

#endif
