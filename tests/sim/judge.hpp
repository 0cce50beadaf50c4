// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_JUDGE_HPP
#define MORTISE_TESTS_SIM_JUDGE_HPP

#include "mortise/lease.hpp"
#include "mortise/lock_mode.hpp"
#include "mortise/sim/process.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>

namespace mortise::test {

/// Sees the beliefs of all processes at one moment, as no process can.
class judge {
public:
    /// Watches a lease as long as it lives.
    class witness {
    public:
        witness(judge& by, sim::process& who, const lease& held, lock_mode mode);
        ~witness();
        witness(const witness&) = delete;
        witness& operator=(const witness&) = delete;

    private:
        friend class judge;
        judge& by_;
        sim::process& who_;
        const lease& held_;
        const std::string name_;
        const lock_mode mode_;
    };

    /// Of two leases of one lock that exclude each other, at most one may be held. Checks that
    /// after each handler, for the process that has just run. A paused process believes nothing
    /// until it runs again.
    void look(const sim::process& who);

    void fail(const std::string& fault);

    /// The first finding; empty: nothing.
    const std::string& verdict() const noexcept { return verdict_; }
    std::uint64_t grants() const noexcept { return grants_; }

private:
    void check_token(const witness& of);
    void check_against_others(const witness& of);

    std::list<const witness*> present_;
    std::map<std::pair<std::string, std::uint64_t>, lock_mode> tokens_;
    std::uint64_t grants_ = 0;
    std::string verdict_;
};

}  // namespace mortise::test

#endif
