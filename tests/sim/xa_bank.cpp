// SPDX-License-Identifier: BSL-1.0
#include "sim/xa_bank.hpp"

#include "mortise/sim/rpc.hpp"
#include "mortise/sim/world.hpp"
#include "mortise/txn/error.hpp"
#include "mortise/txn/xa_participant.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

namespace mortise::test {
namespace {

using std::chrono::milliseconds;
using txn::branch_note;
using txn::reply;

constexpr std::size_t calls_at_once = 8;

/// The database as one process sees it.
class distant_database final : public txn::resource_manager {
public:
    distant_database(xa_bank& bank, sim::process& caller) : bank_(bank), caller_(caller) {}

    asio::awaitable<result<reply>> prepare(db::prepared_name name, txn::call request) override {
        std::function<result<reply>()> asked = [&bank = bank_,
                                                name = std::move(name),
                                                request = std::move(request),
                                                number = bank_.next_request()] {
            return bank.prepare(name, request, number);
        };
        auto calling = sim::rpc<reply>(caller_, bank_.host(), std::move(asked), bank_.answer_max);
        co_return co_await std::move(calling);
    }
    asio::awaitable<result<bool>> finish(db::prepared_name name, db::prepared_end how) override {
        std::function<result<bool>()> asked = [&bank = bank_, name = std::move(name), how] {
            return bank.finish(name, how);
        };
        auto calling = sim::rpc<bool>(caller_, bank_.host(), std::move(asked), bank_.answer_max);
        co_return co_await std::move(calling);
    }
    asio::awaitable<result<branch_note>> look(txn::call request, bool close) override {
        std::function<result<branch_note>()> asked = [&bank = bank_,
                                                      request = std::move(request),
                                                      close] { return bank.look(request, close); };
        auto calling =
            sim::rpc<branch_note>(caller_, bank_.host(), std::move(asked), bank_.answer_max);
        co_return co_await std::move(calling);
    }
    asio::awaitable<result<std::vector<txn::prepared_transaction>>> list() override {
        using listed = std::vector<txn::prepared_transaction>;
        std::function<result<listed>()> asked = [&bank = bank_] { return bank.list(); };
        auto calling = sim::rpc<listed>(caller_, bank_.host(), std::move(asked), bank_.answer_max);
        co_return co_await std::move(calling);
    }
    asio::awaitable<result<bool>>
    forget(std::uint64_t log, std::string participant, std::uint64_t below) override {
        std::function<result<bool>()> asked =
            [&bank = bank_, log, participant = std::move(participant), below] {
                return bank.forget(log, participant, below);
            };
        auto calling = sim::rpc<bool>(caller_, bank_.host(), std::move(asked), bank_.answer_max);
        co_return co_await std::move(calling);
    }

private:
    xa_bank& bank_;
    sim::process& caller_;
};

error_code would_wait() {
    return txn::errc::call_failed;
}

}  // namespace

xa_bank::xa_bank(sim::world& in, std::string name, ages how)
    : simulated_bank(in, std::move(name)), world_(in), ages_(how) {
    for (int account = 1; account <= transfer_ledger::accounts; ++account)
        cents_[account] = transfer_ledger::initial_cents;
}

std::shared_ptr<txn::participant> xa_bank::seen_from(sim::process& caller) {
    constexpr milliseconds notes_kept{5'000};  // short, so that notes are forgotten during a run
    return std::make_shared<txn::xa_participant>(
        std::make_shared<distant_database>(*this, caller), calls_at_once, notes_kept, caller.time()
    );
}

xa_bank::branch_key xa_bank::key_of(const txn::call& of) {
    return {of.gid.log, of.gid.number, of.term, of.branch};
}

bool xa_bank::is_noted_under_way(const branch_key& branch) const {
    return std::any_of(prepared_.begin(), prepared_.end(), [&](const auto& each) {
        return each.second.branch == branch;
    });
}

bool xa_bank::is_locked(int account) const {
    return std::any_of(prepared_.begin(), prepared_.end(), [account](const auto& each) {
        return each.second.order.account == account;
    });
}

result<reply>
xa_bank::prepare(const db::prepared_name& name, const txn::call& of, std::uint64_t request) {
    if (!delivered_.insert(request).second)
        return would_wait();
    if (of.payload.starts_with("look"))
        return reply::done_for_good();
    const auto order = transfer_ledger::order_in(of.payload);
    if (is_noted_under_way(key_of(of)) || is_locked(order.account))
        return would_wait();
    if (order.debit && cents_.at(order.account) < order.cents)
        return reply::refused("not enough money");
    if (notes_.contains(key_of(of)))
        return error_code(txn::errc::late_try);
    prepared work{key_of(of), of.participant, order, world_.now()};
    if (of.one_phase)
        commit(work, true);
    else
        prepared_.emplace(name, std::move(work));
    return reply::done();
}

void xa_bank::commit(const prepared& work, bool alone) {
    const auto& order = work.order;
    cents_.at(order.account) += order.debit ? -order.cents : order.cents;
    auto& ledger = alone ? alone_ : ledger_;
    const auto number = static_cast<std::int64_t>(std::get<1>(work.branch));
    const noted worked{branch_note::worked, work.participant};
    broken_ =
        broken_ || !notes_.emplace(work.branch, worked).second || !ledger.insert(number).second;
}

result<bool> xa_bank::finish(const db::prepared_name& name, db::prepared_end how) {
    const auto found = prepared_.find(name);
    if (found == prepared_.end())
        return false;
    const auto ended = found->second;
    prepared_.erase(found);
    if (how == db::prepared_end::commit)
        commit(ended, false);
    return true;
}

result<branch_note> xa_bank::look(const txn::call& of, bool close) {
    if (is_noted_under_way(key_of(of)))
        return would_wait();
    const auto known = notes_.find(key_of(of));
    if (known != notes_.end())
        return known->second.note;
    if (close)
        notes_.emplace(key_of(of), noted{branch_note::closed, of.participant});
    return close ? branch_note::closed : branch_note::nothing;
}

result<std::vector<txn::prepared_transaction>> xa_bank::list() const {
    std::vector<txn::prepared_transaction> all;
    for (const auto& [name, each] : prepared_) {
        const auto age = std::chrono::duration_cast<milliseconds>(world_.now() - each.since);
        all.emplace_back(name, ages_ == ages::given ? std::optional(age) : std::nullopt);
    }
    return all;
}

result<bool>
xa_bank::forget(std::uint64_t log, const std::string& participant, std::uint64_t below) {
    std::erase_if(notes_, [&](const auto& each) {
        const auto& [of, number, term, branch] = each.first;
        return of == log && each.second.participant == participant && number < below;
    });
    return false;
}

// Its account is none of those of the transfers, so that nobody waits for it.
bool xa_bank::leave_orphan(const txn::gid& of) {
    txn::call lost;
    lost.gid = of;
    lost.term = ++requests_;
    lost.branch = 1;
    transfer_ledger::order order;
    prepared_.emplace(txn::prepared_name_of(lost), prepared{key_of(lost), "", order, world_.now()});
    return true;
}

std::size_t xa_bank::prepared_of(std::uint64_t log) const {
    return static_cast<std::size_t>(std::count_if(
        prepared_.begin(),
        prepared_.end(),
        [log](const auto& each) { return std::get<0>(each.second.branch) == log; }
    ));
}

transfer_ledger::books xa_bank::read() {
    transfer_ledger::books books;
    for (const auto& [account, cents] : cents_)
        books.cents += cents;
    books.confirmed = ledger_;
    books.alone = alone_;
    if (broken_)
        books.reserved = 1;
    return books;
}

}  // namespace mortise::test
