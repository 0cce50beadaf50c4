// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_SWEPT_OPERATION_HPP
#define MORTISE_TESTS_CONFORMANCE_SWEPT_OPERATION_HPP

#include "conformance/operation_scene.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <functional>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace mortise::test {

/// The effect of a cancellation on an operation, in the words of docs/cancellation.md.
enum class cancelled {
    ends_the_wait,      ///< It ends with `operation_aborted`, unless it came too late.
    ends_the_question,  ///< The same; but it waits for nothing except the answer of the store.
    too_late,           ///< It was decided in the call itself; its result is delivered.
    is_ignored,         ///< It goes on.
};

/// An operation of a client in front of a store, and what it begins with.
class swept_operation {
public:
    using done_function = std::function<void(error_code)>;
    using start_function =
        std::function<void(operation_scene&, asio::cancellation_slot, done_function)>;

    std::string name;      ///< Part of the names of its tests.
    std::string function;  ///< In the public headers; a rule of tests/tidy finds a missing one.
    cancelled signal = cancelled::ends_the_wait;
    std::function<void(operation_scene&)> prepare;
    start_function start;
    error_code result = {};  ///< The result if nothing goes wrong.
    bool gets = false;       ///< Whether it then leaves a lease, or several, to its caller.
    bool store_traits::*needs = nullptr;  ///< The trait that the store must have.
    bool needs_push = false;  ///< Whether a client must be told by another one meanwhile.
    std::size_t signals = 3;  ///< How many types of cancellation are emitted.
};

inline std::ostream& operator<<(std::ostream& to, const swept_operation& operation) {
    return to << operation.name;
}

/// All operations: every asynchronous function of a client, of its leases and of what is built on
/// them, in every manner that makes a difference to what they do at the store.
std::vector<swept_operation> all_operations();

/// Those of them that are swept at a store. `chosen` names those that stand for all others where
/// the store is simulated elsewhere.
std::vector<swept_operation>
operations_at(const store_abilities& abilities, const std::set<std::string>& chosen);

/// Those of them that acquire.
std::vector<swept_operation> all_acquires();

}  // namespace mortise::test

#endif
