// SPDX-License-Identifier: BSL-1.0
#include "flash_sale/ledger.hpp"

#include "flash_sale/checkout.hpp"
#include "mortise/outbox/error.hpp"
#include "mortise/outbox/operate.hpp"

#include <limits>

namespace flash_sale {
namespace {

namespace db = mortise::db;
namespace outbox = mortise::outbox;

int integer(db::connection& on, const char* sql) {
    auto row = on.query(sql);
    row.step();
    return static_cast<int>(row.integer(0));
}

// Counts all messages. The table keeps sent ones for a while.
int messages_in(db::connection& on) try {
    constexpr int all = std::numeric_limits<int>::max();
    return static_cast<int>(outbox::list(on, outbox::row_kind::waiting, 0, all).size());
} catch (const boost::system::system_error& e) {
    if (e.code() != outbox::errc::not_an_outbox)
        throw;
    return 0;  // nothing was ever appended
}

}  // namespace

bool ledger::settled() const {
    return arrived() == sold && taken_back == refused && paid == shipped * checkout::price;
}

asio::awaitable<void>
read_ledger(db::sqlite& goods, db::sqlite& wallets, db::sqlite& shippers, ledger& into) {
    co_await goods.async_read([&into](db::connection& on) {
        into.sold = integer(on, "SELECT sold FROM item");
        into.ordered = messages_in(on);
        into.taken_back = integer(on, "SELECT count(*) FROM sale WHERE returned > 0");
        into.twice = integer(on, "SELECT total(returned) FROM sale") - into.taken_back;
    });
    co_await shippers.async_read([&into](db::connection& on) {
        into.refused = messages_in(on);
        into.shipped = integer(on, "SELECT count(DISTINCT number) FROM parcel");
        into.twice += integer(on, "SELECT count(*) FROM parcel") - into.shipped;
    });
    co_await wallets.async_read([&into](db::connection& on) {
        into.paid = integer(on, "SELECT euros FROM till");
    });
}

}  // namespace flash_sale
