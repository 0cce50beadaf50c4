// SPDX-License-Identifier: BSL-1.0
#include "sim/txn_bank.hpp"

#include "mortise/sim/rpc.hpp"
#include "mortise/sim/world.hpp"

#include <sqlite3.h>

#include <functional>
#include <stdexcept>
#include <utility>

namespace mortise::test {
namespace {

/// A bank as one process sees it.
class distant_bank final : public txn::participant {
public:
    distant_bank(txn_bank& bank, sim::process& caller) : bank_(bank), caller_(caller) {}

    asio::awaitable<result<txn::reply>> carry_out(txn::call call) override {
        std::function<result<txn::reply>()> asked = [&bank = bank_, call = std::move(call)] {
            return bank.answer(call);
        };
        auto calling =
            sim::rpc<txn::reply>(caller_, bank_.host(), std::move(asked), bank_.answer_max);
        co_return co_await std::move(calling);
    }

private:
    txn_bank& bank_;
    sim::process& caller_;
};

}  // namespace

void txn_bank::closer::operator()(sqlite3* database) const noexcept {
    ::sqlite3_close_v2(database);
}

txn_bank::txn_bank(sim::world& in, std::string name) : simulated_bank(in, std::move(name)) {
    sqlite3* opened = nullptr;
    const int code = ::sqlite3_open(":memory:", &opened);
    file_.reset(opened);
    if (code != SQLITE_OK)
        throw std::runtime_error("no database in memory");
    on_ = std::make_unique<db::connection>(opened);
    on_->run("BEGIN");
    transfer_ledger::prepare(*on_);
    on_->run("COMMIT");
}

txn_bank::~txn_bank() = default;

std::shared_ptr<txn::participant> txn_bank::seen_from(sim::process& caller) {
    return std::make_shared<distant_bank>(*this, caller);
}

result<txn::reply> txn_bank::answer(const txn::call& call) {
    on_->run("BEGIN IMMEDIATE");
    try {
        auto got = transfer_ledger::carry_out(*on_, call);
        on_->run("COMMIT");
        return got;
    } catch (...) {
        on_->run("ROLLBACK");
        throw;  // ends the simulation: no call may violate a table constraint
    }
}

}  // namespace mortise::test
