// SPDX-License-Identifier: BSL-1.0
#include "conformance/operation_start.hpp"

#include <chrono>

namespace mortise::test {
namespace {
namespace acquire_operations {

using namespace std::chrono_literals;

using scene = operation_scene;
using slot_type = asio::cancellation_slot;
using done_function = swept_operation::done_function;
using start_function = swept_operation::start_function;

constexpr auto longer_than_lent = 60s;
constexpr auto not_long = 1ms;

lock_options mode(lock_mode wanted) {
    lock_options options;
    options.mode = wanted;
    return options;
}

lock_options waiting(std::chrono::milliseconds at_most) {
    lock_options options;
    options.wait_max = at_most;
    return options;
}

lock_options every_option(scene& at) {
    lock_options options = mode(lock_mode::permits(2));
    options.wait_max = longer_than_lent;
    if (at.harness().make_store()->traits().hold_max)
        options.hold_max = 30s;
    options.owner = owner_id::draw();
    return options;
}

lock_options lingering() {
    lock_options options;
    options.linger = 10s;
    return options;
}

lock_options as_owner(const scene& at) {
    lock_options options;
    options.owner = at.owner;
    return options;
}

start_function acquire(std::string name, lock_options options = lock_options()) {
    return [=](scene& at, slot_type slot, done_function done) {
        at.one().async_acquire(name, options, into(at, slot, std::move(done)));
    };
}

start_function attempt(std::string name) {
    return [=](scene& at, slot_type slot, done_function done) {
        at.one().async_try_acquire(name, lock_options(), into(at, slot, std::move(done)));
    };
}

start_function acquire_all(lock_options options = lock_options()) {
    return [=](scene& at, slot_type slot, done_function done) {
        at.one().async_acquire_all(
            {"window", "door", "gate"}, options, into(at, slot, std::move(done))
        );
    };
}

void acquire_with_every_option(scene& at, slot_type slot, done_function done) {
    acquire("seats", every_option(at))(at, slot, std::move(done));
}

void acquire_again(scene& at, slot_type slot, done_function done) {
    at.one().async_acquire("mine", as_owner(at), into(at, slot, std::move(done)));
}

// Gives a lock to the other client, and stands in its queue again.
void acquire_what_goes_away(scene& at, slot_type slot, done_function done) {
    at.one().async_acquire("mine", lock_options(), into(at, slot, std::move(done)));
    at.drop_mine();
}

void hold_what_another_passes_on(scene& at) {
    at.hold_mine();
    at.be_waited_for();
    at.pass_on();
}

std::function<void(scene&)> lend(std::string name, lock_options options = lock_options()) {
    return [=](scene& at) { at.lend(name, options); };
}

// With a session, and so all that are wanted are asked for together.
void hold_mine_and_lend_a_door(scene& at) {
    at.hold_mine();
    at.lend("gate");
}

std::function<void(scene&)> occupy(std::string name) {
    return [=](scene& at) { at.occupy(name); };
}

void hold_mine(scene& at) {
    at.hold_mine();
}

void hold_mine_as_owner(scene& at) {
    at.hold_mine(as_owner(at));
}

void let_mine_linger(scene& at) {
    at.let_mine_linger();
}

void hold_mine_for_a_while(scene& at) {
    at.hold_mine();
    at.drop_mine_later();
}

swept_operation
acquires(std::string name, start_function start, std::function<void(scene&)> prepare = {}) {
    swept_operation operation;
    operation.name = std::move(name);
    operation.function = "lock_client::async_acquire";
    operation.start = std::move(start);
    operation.prepare = std::move(prepare);
    operation.gets = true;
    return operation;
}

swept_operation in_vain(swept_operation operation, error_code result) {
    operation.result = result;
    operation.gets = false;
    return operation;
}

// For an operation that waits for nobody but the store.
swept_operation uncontended(swept_operation operation) {
    operation.signal = cancelled::ends_the_question;
    return operation;
}

swept_operation at_once(swept_operation operation) {
    operation.signal = cancelled::too_late;
    return operation;
}

// For an operation in which the other client must be told that somebody waits, or `one` that it is
// its turn.
swept_operation pushed(swept_operation operation) {
    operation.needs_push = true;
    return operation;
}

swept_operation of(std::string function, swept_operation operation) {
    operation.function = std::move(function);
    return operation;
}

}  // namespace acquire_operations
}  // namespace

std::vector<swept_operation> all_acquires() {
    using namespace acquire_operations;
    const lock_mode shared = lock_mode::shared();
    const lock_mode single = lock_mode::permits(1);
    const lock_mode couple = lock_mode::permits(2);
    const std::string attempts = "lock_client::async_try_acquire";
    const std::string several = "lock_client::async_acquire_all";
    return {
        uncontended(acquires("Acquire", acquire("door"))),
        uncontended(acquires("AcquireWithASession", acquire("door"), &hold_mine)),
        pushed(acquires("AcquireOfATakenLock", acquire("door"), lend("door"))),
        pushed(acquires("AcquireInTime", acquire("door", waiting(longer_than_lent)), lend("door"))),
        in_vain(
            acquires("AcquireInVain", acquire("door", waiting(not_long)), occupy("door")),
            errc::busy
        ),
        pushed(
            acquires("AcquireWhatGoesAway", &acquire_what_goes_away, &hold_what_another_passes_on)
        ),
        acquires("AcquireBehindOneself", acquire("mine"), &hold_mine_for_a_while),
        uncontended(acquires(
            "AcquireSharedWithAReader", acquire("door", mode(shared)), lend("door", mode(shared))
        )),
        pushed(acquires("AcquireSharedBehindAWriter", acquire("door", mode(shared)), lend("door"))),
        pushed(acquires("AcquireBehindAReader", acquire("door"), lend("door", mode(shared)))),
        uncontended(
            acquires("AcquireAPermit", acquire("seats", mode(couple)), lend("seats", mode(couple)))
        ),
        pushed(acquires(
            "AcquireTheLastPermit", acquire("seats", mode(single)), lend("seats", mode(single))
        )),
        uncontended(acquires("AcquireWithEveryOption", &acquire_with_every_option)),
        uncontended(acquires("AcquireLingering", acquire("door", lingering()))),
        at_once(acquires("AcquireWhatLingers", acquire("mine"), &let_mine_linger)),
        at_once(acquires("AcquireAgain", &acquire_again, &hold_mine_as_owner)),
        uncontended(of(attempts, acquires("Try", attempt("door")))),
        uncontended(
            in_vain(of(attempts, acquires("TryInVain", attempt("door"), occupy("door"))), {})
        ),
        at_once(in_vain(of(attempts, acquires("TryOneself", attempt("mine"), &hold_mine)), {})),
        uncontended(of(several, acquires("AcquireAll", acquire_all()))),
        pushed(of(several, acquires("AcquireAllOfThemTaken", acquire_all(), lend("gate")))),
        uncontended(of(several, acquires("AcquireAllWithASession", acquire_all(), &hold_mine))),
        pushed(
            of(several, acquires("AcquireAllBehindOne", acquire_all(), &hold_mine_and_lend_a_door))
        ),
        in_vain(
            of(several,
               acquires("AcquireAllInVain", acquire_all(waiting(not_long)), occupy("gate"))),
            errc::busy
        ),
    };
}

}  // namespace mortise::test
