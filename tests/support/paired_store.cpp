// SPDX-License-Identifier: BSL-1.0
#include "support/paired_store.hpp"

#include "mortise/coro/assert.hpp"
#include "mortise/coro/time_source.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace mortise::test {

proof_number half_of(std::string_view name) noexcept {
    proof_number sum = 0;
    for (const char byte : name)
        sum += static_cast<unsigned char>(byte);
    return sum % 2;
}

namespace {

/// The way to one of the servers. Its events get the number of its proof.
struct half final : private store_events {
    half(proof_number proof, std::unique_ptr<store> server)
        : number(proof), at(std::move(server)) {}

    void attach(
        asio::any_io_executor strand, store_events& client, std::shared_ptr<coro::time_source> time
    ) {
        events = &client;
        at->attach(std::move(strand), *this, std::move(time));
    }

    const proof_number number;
    const std::unique_ptr<store> at;
    bool begun = false;  ///< It may have a session.

private:
    void on_store_event(const store_event& event) noexcept override {
        store_event numbered = event;
        numbered.number = number;
        events->on_store_event(numbered);
    }

    store_events* events = nullptr;
};

class paired_store final : public store {
public:
    paired_store(std::unique_ptr<store> first, std::unique_ptr<store> second)
        : halves_{half(0, std::move(first)), half(1, std::move(second))} {}

    store_traits traits() const noexcept override {
        auto traits = halves_[0].at->traits();
        traits.records = false;
        return traits;
    }

    void attach(
        asio::any_io_executor strand, store_events& events, std::shared_ptr<coro::time_source> time
    ) override {
        for (half& each : halves_)
            each.attach(strand, events, time);
    }
    void detach() noexcept override {
        for (half& each : halves_)
            each.at->detach();
    }

    proof_number number_of(std::string_view name) const noexcept override { return half_of(name); }

    asio::awaitable<result<resumed>> resume(session_start start) override {
        half& to = halves_[start.number];
        to.begun = true;
        auto reply = co_await to.at->resume(std::move(start));
        if (reply)
            set_number(reply->view, to.number);
        co_return reply;
    }

    asio::awaitable<error_code> end() override {
        error_code result;
        for (half& each : halves_) {
            if (!each.begun)
                continue;
            const error_code failed = co_await each.at->end();
            if (failed && failed != errc::session_lost)
                result = failed;
        }
        co_return result;
    }

    asio::awaitable<result<answer>> request(lock_request request) override {
        half& to = halves_[half_of(request.name)];
        auto reply = co_await to.at->request(std::move(request));
        if (reply)
            reply->number = to.number;
        co_return reply;
    }
    asio::awaitable<error_code> withdraw(std::string name, request_id id) override {
        return server_of(name).withdraw(name, id);
    }
    asio::awaitable<result<bool>> release(grant held) override {
        return server_of(held.name).release(held);
    }
    asio::awaitable<result<heartbeat>> beat(proof_number number) override {
        return halves_[number].at->beat(0);
    }
    asio::awaitable<result<session_view>> look(proof_number number) override {
        auto view = co_await halves_[number].at->look(0);
        if (view)
            set_number(*view, number);
        co_return view;
    }
    asio::awaitable<result<answers_in_order>> request_in_order(std::vector<lock_request> requests
    ) override {
        const auto first = half_of(requests.front().name);
        for (std::size_t i = 1; i < requests.size(); ++i)
            MORTISE_ASSERT(half_of(requests[i].name) == first);  // Another session asks for it.
        half& to = halves_[first];
        auto asking = to.at->request_in_order(std::move(requests));
        auto reply = co_await std::move(asking);
        for (std::size_t i = 0; reply && i < reply->size(); ++i) {
            if ((*reply)[i])
                (*reply)[i]->number = to.number;
        }
        co_return reply;
    }
    asio::awaitable<released_and_asked>
    release_and_request(grant held, lock_request request) override {
        half& to = halves_[half_of(held.name)];
        auto asking = to.at->release_and_request(std::move(held), std::move(request));
        auto both = co_await std::move(asking);
        if (both.asked)
            both.asked->number = to.number;
        co_return both;
    }
    asio::awaitable<result<token_range>> draw(grant held) override {
        return server_of(held.name).draw(held);
    }
    asio::awaitable<result<std::chrono::milliseconds>>
    extend(grant held, std::chrono::milliseconds hold_max) override {
        return server_of(held.name).extend(held, hold_max);
    }

    asio::awaitable<result<std::vector<lock_view>>>
    list(std::string after, std::size_t limit, std::size_t queue_max) override {
        std::vector<lock_view> all;
        for (half& each : halves_) {
            auto part = co_await each.at->list(after, limit, queue_max);
            if (!part)
                co_return part.error();
            std::move(part->begin(), part->end(), std::back_inserter(all));
        }
        std::sort(all.begin(), all.end(), [](const lock_view& a, const lock_view& b) {
            return a.name < b.name;
        });
        all.resize(std::min(all.size(), limit));
        co_return all;
    }
    asio::awaitable<result<std::optional<lock_view>>>
    inspect(std::string name, std::size_t queue_max) override {
        return server_of(name).inspect(name, queue_max);
    }
    asio::awaitable<result<bool>> break_(break_order order) override {
        return server_of(order.name).break_(order);
    }

    asio::awaitable<result<std::vector<break_record>>>
    breaks(std::string name, std::size_t limit) override {
        std::vector<break_record> all;
        for (half& each : halves_) {
            if (!name.empty() && half_of(name) != each.number)
                continue;
            auto part = co_await each.at->breaks(name, limit);
            if (!part)
                co_return part.error();
            std::vector<break_record> both;
            const auto is_newer = [](const auto& a, const auto& b) { return a.at > b.at; };
            std::merge(
                all.begin(),
                all.end(),
                part->begin(),
                part->end(),
                std::back_inserter(both),
                is_newer
            );
            all = std::move(both);
        }
        all.resize(std::min(all.size(), limit));
        co_return all;
    }

    asio::awaitable<error_code> watch() override { co_return errc::unsupported; }

    asio::awaitable<result<std::vector<store_finding>>> examine() override {
        std::vector<store_finding> all;
        for (half& each : halves_) {
            auto part = co_await each.at->examine();
            if (!part)
                co_return part.error();
            std::move(part->begin(), part->end(), std::back_inserter(all));
        }
        co_return all;
    }

    std::string explain() const override {
        std::string text = halves_[0].at->explain();
        const std::string other = halves_[1].at->explain();
        if (!text.empty() && !other.empty())
            text += "; ";
        return text + other;
    }

private:
    store& server_of(std::string_view name) const { return *halves_[half_of(name)].at; }

    static void set_number(session_view& view, proof_number number) {
        for (session_entry& entry : view.entries)
            entry.number = number;
    }

    std::array<half, 2> halves_;
};

}  // namespace

std::unique_ptr<store>
make_paired_store(std::unique_ptr<store> first, std::unique_ptr<store> second) {
    return std::make_unique<paired_store>(std::move(first), std::move(second));
}

}  // namespace mortise::test
