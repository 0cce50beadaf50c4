// SPDX-License-Identifier: BSL-1.0
#include "conformance/port_conformance.hpp"
#include "support/caught_failures.hpp"

#include <exception>
#include <iostream>

namespace mortise::test {
namespace {

constexpr int trials_max = 5;

}  // namespace

class StoreSuite::trial {
public:
    bool says_nothing(const store_harness& harness) const {
        return failures_.any() && harness.was_late(delay_, harness.ttl());
    }
    void report() { failures_.report(); }

private:
    const machine_delay delay_;
    caught_failures failures_;
};

StoreSuite::StoreSuite() : harness_(GetParam()()) {}

StoreSuite::~StoreSuite() = default;

void StoreSuite::SetUp() {
    if (!h().simulates_time())
        trial_ = std::make_unique<trial>();
    prepare();
}

void StoreSuite::TearDown() {
    repeat_while_late();
    report();
}

void StoreSuite::repeat_while_late() {
    for (int i = 1; trial_ && i < trials_max && trial_->says_nothing(h()); ++i) {
        std::cout << "the machine was late: trial " << i + 1 << std::endl;
        harness_.reset();
        trial_.reset();
        harness_ = GetParam()();
        trial_ = std::make_unique<trial>();
        prepare();
        try {
            TestBody();
        } catch (const std::exception& error) {
            ADD_FAILURE() << "thrown: " << error.what();
        }
    }
}

void StoreSuite::report() {
    if (trial_)
        trial_->report();
}

}  // namespace mortise::test
