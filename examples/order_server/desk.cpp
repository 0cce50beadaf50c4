// SPDX-License-Identifier: BSL-1.0
#include "order_server/desk.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace order_server {
namespace {

namespace http = http_server::http;
using http_server::request;
using http_server::response;

constexpr std::size_t name_max = 64;
constexpr std::size_t key_max = 128;
constexpr const char* key_header = "Idempotency-Key";
constexpr const char* buyer_header = "Buyer";

bool is_word(std::string_view text, std::size_t size_max) {
    return !text.empty() && text.size() <= size_max &&
           std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

/// Describes what is wrong with the headers of an order. Empty if nothing is.
std::string fault_of(const request& wish) {
    if (!is_word(wish[key_header], key_max))
        return "Send a header Idempotency-Key of 1 to 128 visible characters: a new one for each "
               "order, and the same one when you ask again.\n";
    if (!is_word(wish[buyer_header], name_max))
        return "Send a header Buyer of 1 to 64 visible characters: who pays.\n";
    return {};
}

std::string line_about(const order_book::entry& entry, std::string_view state) {
    return "order " + std::to_string(entry.number) + ": " + std::string(state) + '\n';
}

}  // namespace

asio::awaitable<response> desk::route(const request& wish) {
    constexpr std::string_view orders_path = "/orders/";
    const std::string_view target = wish.target();
    if (target.starts_with(orders_path)) {
        std::string name(target.substr(orders_path.size()));
        if (wish.method() == http::verb::get)
            co_return co_await look(std::move(name));
        if (wish.method() == http::verb::post) {
            if (auto fault = fault_of(wish); !fault.empty())
                co_return make_response(http::status::bad_request, std::move(fault));
            order wanted;
            wanted.buyer = wish[buyer_header];
            wanted.key = wish[key_header];
            wanted.item = std::move(name);
            co_return co_await place(std::move(wanted));
        }
    }
    if (wish.method() == http::verb::get && target == "/metrics")
        co_return make_response(http::status::ok, co_await shop_.metrics());
    co_return make_response(http::status::not_found, "no such page\n");
}

asio::awaitable<response> desk::place(order wanted) {
    if (!is_word(wanted.item, name_max))
        co_return make_response(http::status::not_found, "no such item\n");
    const auto entry = co_await shop_.place(wanted);
    if (!entry)
        co_return make_response(http::status::not_found, "no such item\n");
    if (entry->item != wanted.item)
        co_return make_response(
            http::status::unprocessable_entity,
            "This key was used for an order of " + entry->item + ": use a new one for each order.\n"
        );
    if (entry->is(order_book::sold_out))
        co_return make_response(http::status::conflict, "sold out\n");
    if (entry->is(order_book::no_money))
        co_return make_response(http::status::payment_required, "not enough money\n");
    // Repeat the first answer to the order. GET tells what has become of it since.
    auto answer = make_response(http::status::created, line_about(*entry, order_book::accepted));
    answer.set(http::field::location, "/orders/" + std::to_string(entry->number));
    co_return answer;
}

asio::awaitable<response> desk::look(std::string number) {
    std::int64_t parsed = 0;
    const char* const last = number.data() + number.size();
    const auto [end, code] = std::from_chars(number.data(), last, parsed);
    std::optional<order_book::entry> found;
    if (code == std::errc() && end == last)
        found = co_await shop_.find(parsed);
    if (!found)
        co_return make_response(http::status::not_found, "no such order\n");
    co_return make_response(http::status::ok, line_about(*found, found->state));
}

}  // namespace order_server
