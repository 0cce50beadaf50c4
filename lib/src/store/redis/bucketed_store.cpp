// SPDX-License-Identifier: BSL-1.0
// The port of a store that is spread over a cluster.
#include "store/redis/bucket_set.hpp"
#include "store/redis/redis_stores.hpp"

#include <utility>

namespace mortise {
namespace {

using store_detail::bucket_set;

class bucketed_store final : public store {
public:
    explicit bucketed_store(std::shared_ptr<bucket_set> set) : set_(std::move(set)) {}
    ~bucketed_store() override { set_->detach(); }

    store_traits traits() const noexcept override { return set_->traits(); }
    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        set_->attach(std::move(strand), events, std::move(time));
    }
    void detach() noexcept override { set_->detach(); }
    proof_number number_of(std::string_view name) const noexcept override {
        return set_->number_of(name);
    }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        return set_->resume(std::move(start));
    }
    asio::awaitable<error_code> end() override { return set_->end(); }
    asio::awaitable<result<heartbeat>> beat(proof_number number) override {
        return set_->beat(number);
    }
    asio::awaitable<result<session_view>> look(proof_number number) override {
        return set_->look(number);
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        return set_->request(std::move(request));
    }
    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        if (set_->number_of(held.name) != set_->number_of(request.name))
            return store::release_and_request(std::move(held), std::move(request));
        return set_->release_and_request(std::move(held), std::move(request));
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        return set_->withdraw(std::move(name), id);
    }
    asio::awaitable<result<bool>> release(grant held) override {
        return set_->release(std::move(held));
    }
    asio::awaitable<result<token_range>> draw(grant held) override {
        return set_->draw(std::move(held));
    }
    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        return set_->extend(std::move(held), hold_max);
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        return set_->list(std::move(after), limit, queue_max);
    }
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        return set_->inspect(std::move(name), queue_max);
    }
    asio::awaitable<result<bool>> break_(break_order order) override {
        return set_->break_(std::move(order));
    }
    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        return set_->breaks(std::move(name), limit);
    }
    asio::awaitable<error_code> watch() override { return set_->watch(); }
    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        return set_->examine();
    }
    std::string explain() const override { return set_->explain(); }

private:
    const std::shared_ptr<bucket_set> set_;
};

}  // namespace

std::unique_ptr<store> store_detail::make_bucketed_store(
    const redis_store_config& config, link_settings settings, wire_settings node
) {
    return std::make_unique<bucketed_store>(
        std::make_shared<bucket_set>(config, std::move(settings), std::move(node))
    );
}

}  // namespace mortise
