// SPDX-License-Identifier: BSL-1.0
#include "mortise/sim/lock_server.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/coro/time_source.hpp"
#include "mortise/sim/process.hpp"
#include "mortise/sim/world.hpp"
#include "sim/remote_link.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/system_executor.hpp>

#include <utility>

namespace mortise::sim {
namespace {

using detail::memory_state;
using detail::remote_link;

/// The clock of a process over all of its lives, for objects that read the time and never wait.
class host_clock final : public coro::time_source {
public:
    explicit host_clock(const process& of) : time_source(asio::system_executor()), of_(of) {}

    clock::time_point now() const noexcept override { return of_.local_now(); }

private:
    void wait_until(clock::time_point, coro::detail::completion<void(error_code)> done) override {
        done.complete(asio::error::operation_not_supported);
    }

    const process& of_;
};

asio::awaitable<void> idle(process&) {
    co_return;  // Messages do all the work of a server.
}

/// The answer to a heartbeat, and whether the server still knows that the session watches.
struct remote_heartbeat {
    heartbeat own;
    bool watching = false;
};

class remote_store final : public store {
public:
    explicit remote_store(std::shared_ptr<remote_link> link) : link_(std::move(link)) {}
    ~remote_store() override { link_->detach(); }

    store_traits traits() const noexcept override {
        store_traits traits;
        traits.remote = true;
        traits.scheme = "sim";
        traits.strength = token_strength::strict;
        traits.push = traits.fair = traits.server_clock = true;
        traits.shared = traits.permits = traits.hold_max = traits.extend = true;
        traits.release_and_request = traits.request_in_order = true;
        traits.ttl_min = std::chrono::milliseconds(10);
        traits.ttl_max = std::chrono::hours(24);
        return traits;
    }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        link_->attach(std::move(strand), events, std::move(time));
    }

    void detach() noexcept override { link_->detach(); }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        return link_->open(std::move(start));
    }

    asio::awaitable<error_code> end() override {
        auto asking = acknowledged([id = id()](memory_state& at) { return at.end(id); });
        co_return co_await std::move(asking);
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        return link_->call<answer>(
            [id = id(), generation = generation(), sent = std::move(request)](memory_state& at) {
                return at.request(id, generation, sent);
            }
        );
    }

    asio::awaitable<result<answers_in_order>> request_in_order(std::vector<lock_request> requests
    ) override {
        return link_->call<answers_in_order>(
            [id = id(), generation = generation(), sent = std::move(requests)](memory_state& at) {
                return at.request_in_order(id, generation, sent);
            }
        );
    }

    asio::awaitable<error_code> withdraw(std::string name, request_id request) override {
        auto asking =
            acknowledged([id = id(), generation = generation(), name = std::move(name), request](
                             memory_state& at
                         ) { return at.withdraw(id, generation, name, request); });
        co_return co_await std::move(asking);
    }

    asio::awaitable<result<bool>> release(grant held) override {
        return link_->call<bool>([id = id(), generation = generation(), held = std::move(held)](
                                     memory_state& at
                                 ) { return at.release(id, generation, held); });
    }

    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        auto asking = link_->call<released_and_asked>(
            [id = id(),
             generation = generation(),
             held = std::move(held),
             sent = std::move(request)](memory_state& at) -> result<released_and_asked> {
                auto both = at.release_and_request(id, generation, held, sent);
                if (!both.released)
                    return both.released.error();  // The whole call is refused.
                return both;
            }
        );
        const auto both = co_await std::move(asking);
        if (both)
            co_return *both;
        co_return released_and_asked(both.error());
    }

    asio::awaitable<result<heartbeat>> beat(proof_number) override {
        const clock::time_point sent = link_->now();
        auto asking = link_->call<remote_heartbeat>(
            [id = id(), generation = generation()](memory_state& at) -> result<remote_heartbeat> {
                const auto own = at.beat(id, generation);
                if (!own)
                    return own.error();
                return remote_heartbeat{*own, at.watches(id)};
            }
        );
        auto reply = co_await std::move(asking);
        if (!reply)
            co_return reply.error();
        link_->compare_watching(reply->watching);
        reply->own.sent = sent;
        co_return reply->own;
    }

    asio::awaitable<result<session_view>> look(proof_number) override {
        return link_->call<session_view>([id = id(), generation = generation()](memory_state& at) {
            return at.look(id, generation);
        });
    }

    asio::awaitable<result<token_range>> draw(grant held) override {
        return link_->call<token_range>(
            [id = id(), generation = generation(), held = std::move(held)](memory_state& at) {
                return at.draw(id, generation, held);
            }
        );
    }

    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        return link_->call<std::chrono::milliseconds>(
            [id = id(), generation = generation(), held = std::move(held), hold_max](
                memory_state& at
            ) { return at.extend(id, generation, held, hold_max); }
        );
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        return link_->ask<std::vector<lock_view>>([after = std::move(after), limit, queue_max](
                                                      memory_state& at
                                                  ) { return at.list(after, limit, queue_max); });
    }

    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        return link_->ask<std::optional<lock_view>>([name = std::move(name),
                                                     queue_max](memory_state& at) {
            return at.inspect(name, queue_max);
        });
    }

    asio::awaitable<result<bool>> break_(break_order order) override {
        return link_->ask<bool>([order = std::move(order)](memory_state& at) {
            return at.break_(order);
        });
    }

    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        return link_->ask<std::vector<break_record>>(
            [name = std::move(name), limit](memory_state& at) { return at.breaks(name, limit); }
        );
    }

    asio::awaitable<error_code> watch() override {
        link_->begin_to_watch();
        auto asking = acknowledged([id = id(), generation = generation()](memory_state& at) {
            return at.watch(id, generation);
        });
        co_return co_await std::move(asking);
    }

    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        return link_->ask<std::vector<store_finding>>([](memory_state& at) { return at.examine(); }
        );
    }

    std::string explain() const override { return link_->explain(); }

private:
    struct nothing {};

    session_id id() const { return link_->session().id; }
    std::uint64_t generation() const { return link_->session().generation; }

    asio::awaitable<error_code> acknowledged(std::function<error_code(memory_state&)> change) {
        auto asking = link_->call<nothing>([change = std::move(change)](memory_state& at) {
            const error_code failed = change(at);
            return failed ? result<nothing>(failed) : result<nothing>(nothing());
        });
        const auto reply = co_await std::move(asking);
        co_return reply ? error_code() : reply.error();
    }

    std::shared_ptr<remote_link> link_;
};

}  // namespace

lock_server::lock_server(world& in, std::string name)
    : host_(in.add_process(std::move(name))),
      state_(std::make_shared<memory_state>(std::make_shared<host_clock>(host_))) {
    host_.run(&idle);
}

lock_server::~lock_server() = default;

std::unique_ptr<store> lock_server::make_store(process& client, clock::duration call_max) {
    return std::make_unique<remote_store>(
        std::make_shared<remote_link>(client, host_, state_, call_max)
    );
}

void lock_server::restart_after(clock::duration down, bool with_memory) {
    if (!host_.alive())
        return;
    host_.crash();
    host_.in().after(down, [this, with_memory] {
        if (host_.alive())
            return;
        host_.restart();
        state_->restart(with_memory);
    });
}

void lock_server::lose_pushes(std::size_t count) {
    state_->lose_pushes(count);
}

std::size_t lock_server::sessions() const {
    return state_->sessions();
}

std::size_t lock_server::entries() const {
    return state_->entries();
}

}  // namespace mortise::sim
