// SPDX-License-Identifier: BSL-1.0
#include "sim/simulated_bank.hpp"

#include "mortise/sim/world.hpp"

#include <utility>

namespace mortise::test {
namespace {

asio::awaitable<void> be_there(sim::process&) {
    co_return;
}

}  // namespace

simulated_bank::simulated_bank(sim::world& in, std::string name)
    : host_(in.add_process(std::move(name))) {
    host_.run(&be_there);
}

}  // namespace mortise::test
