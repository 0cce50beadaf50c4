// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SIM_TXN_SITE_HPP
#define MORTISE_TESTS_SIM_TXN_SITE_HPP

#include "mortise/lock_client.hpp"
#include "mortise/sim/dice.hpp"
#include "mortise/sim/process.hpp"
#include "mortise/txn/coordinator.hpp"
#include "sim/txn_floor.hpp"

#include <memory>

namespace mortise::test {

/// A process with a coordinator, whose coroutines make transfers while there is chaos. Then it
/// waits until no transaction is left.
class txn_site {
public:
    static asio::awaitable<void> main(txn_floor& floor, sim::process& self);

    txn_site(txn_floor& floor, sim::process& self);

private:
    asio::awaitable<void> run();
    asio::awaitable<void> make_transfers();
    asio::awaitable<void> finish();
    asio::awaitable<void> rest(clock::duration mean);
    txn::transaction draw_transfer();

    txn_floor& floor_;
    sim::process& self_;
    sim::dice& dice_;
    std::shared_ptr<lock_client> locks_;
    txn::coordinator tcc_;
};

}  // namespace mortise::test

#endif
