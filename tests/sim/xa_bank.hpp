// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_XA_BANK_HPP
#define MORTISE_TESTS_SIM_XA_BANK_HPP

#include "mortise/txn/resource_manager.hpp"
#include "sim/simulated_bank.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>

namespace mortise::test {

/// A bank whose database prepares transactions. It follows the rules of a real one: a prepared
/// transaction survives crashes and keeps the lock of its account, a branch that is noted by a
/// transaction under way makes others wait. Here, whoever would wait is told that it took too long.
class xa_bank final : public simulated_bank {
public:
    /// Whether it tells for how long transactions have been prepared.
    enum class ages : std::uint8_t { given, unknown };

    xa_bank(sim::world& in, std::string name, ages how);

    std::shared_ptr<txn::participant> seen_from(sim::process& caller) override;
    transfer_ledger::books read() override;
    bool leave_orphan(const txn::gid& of) override;
    std::size_t prepared_of(std::uint64_t log) const override;

    // At the database, each at once.
    /// @param request a number of its own: the connection delivers it once
    result<txn::reply>
    prepare(const db::prepared_name& name, const txn::call& of, std::uint64_t request);
    result<bool> finish(const db::prepared_name& name, db::prepared_end how);
    result<txn::branch_note> look(const txn::call& of, bool close);
    result<std::vector<txn::prepared_transaction>> list() const;
    result<bool> forget(std::uint64_t log, const std::string& participant, std::uint64_t below);

    std::uint64_t next_request() noexcept { return ++requests_; }

private:
    using branch_key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t>;
    struct noted {
        txn::branch_note note;
        std::string participant;
    };
    struct prepared {
        branch_key branch;
        std::string participant;
        transfer_ledger::order order;
        clock::time_point since;
    };

    static branch_key key_of(const txn::call& of);
    void commit(const prepared& work, bool alone);
    bool is_noted_under_way(const branch_key& branch) const;
    bool is_locked(int account) const;

    sim::world& world_;
    const ages ages_;
    std::map<int, std::int64_t> cents_;
    std::map<db::prepared_name, prepared> prepared_;
    std::map<branch_key, noted> notes_;
    std::set<std::int64_t> ledger_;
    std::set<std::int64_t> alone_;
    std::set<std::uint64_t> delivered_;
    std::uint64_t requests_ = 0;
    bool broken_ = false;  ///< Something was done twice.
};

}  // namespace mortise::test

#endif
