// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_CONFORMANCE_OPERATION_SCENE_HPP
#define MORTISE_TESTS_CONFORMANCE_OPERATION_SCENE_HPP

#include "conformance/store_harness.hpp"
#include "mortise/lock_client.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::test {

/// Two clients of one store: `one`, whose operation is swept, and `other`, which exists before it
/// and sees what is left behind. A scene is one run of an operation.
class operation_scene {
public:
    /// @param ttl of the client whose operation is swept.
    operation_scene(store_harness& harness, lock_client& other, std::chrono::milliseconds ttl);
    operation_scene(const operation_scene&) = delete;
    operation_scene& operator=(const operation_scene&) = delete;

    /// The locks that operations take, besides "mine".
    static std::vector<std::string> all_names() { return {"door", "gate", "seats", "window"}; }

    store_harness& harness() noexcept { return harness_; }
    lock_client& one() noexcept { return *one_; }
    lock_client& other() noexcept { return other_; }

    // Prepare the state in which the operation begins; each function returns when it is reached.
    void hold_mine(lock_options options = lock_options());
    void hold_set();
    void let_mine_linger();
    void drop_mine();
    void drop_mine_later();
    /// Lets the other client hold the lock until it lets go of everything.
    void occupy(std::string name, lock_options options = lock_options());
    /// Lets the other client hold the lock for some milliseconds of the operation.
    void lend(std::string name, lock_options options = lock_options());
    /// The same; `lent_view` becomes the view of the lock while the other client holds it.
    void lend_and_see(std::string name);
    /// Like `lend`, and again much later if nobody has seen the change: in real time the change may
    /// be over before the operation begins to look. That is rare: see `shown_again`.
    void show_a_change(std::string name);
    /// Whether the second time was needed.
    bool shown_again() const noexcept { return shown_again_; }
    /// Lets the other client wait for "mine".
    void be_waited_for();
    /// The other client gives that lock back as soon as it has it.
    void pass_on() noexcept { passes_on_ = true; }
    /// The same, some milliseconds later.
    void want_mine_later();
    /// Calls `action` some milliseconds later, if the scene still exists.
    void later(std::function<void()> action);

    // Keep what the operation got.
    void keep(lease got);
    void keep(std::optional<lease> got);
    void keep(lease_set got) { set_ = std::move(got); }
    template <class T>
    void keep(const T&) {}
    bool got_something() const noexcept { return !got_.empty() || !set_.empty(); }
    /// Whether what an acquire got is surely held.
    bool surely_held() const noexcept;

    /// How many entries `one` has at the store, besides "mine" while it holds that.
    std::size_t at_store();
    /// Lets both clients release all that they have; false if that is not acknowledged.
    bool let_go();
    /// Whether the other client gets every lock at once.
    bool all_free();
    /// Describes the holders and the waiters, for people.
    std::string seen_at_store();
    /// Ends the session of `one`.
    error_code stop();
    void destroy_one() { one_.reset(); }

    bool run_until(const std::function<bool()>& done);

    lease mine;  ///< The lease of "mine", held by `one`.
    lease_set mine_all;
    owner_id owner = owner_id::draw();
    std::optional<lock_view> lent_view;  ///< Set by `lend_and_see`.

private:
    lease acquire(lock_client& client, std::string name, lock_options options);
    bool release(lease& held);
    void want_mine();
    error_code take_all();

    store_harness& harness_;
    lock_client& other_;
    std::optional<lock_client> one_;
    const std::shared_ptr<int> alive_ = std::make_shared<int>();
    lease lent_;
    lease waited_;
    bool waits_ = false;
    bool passes_on_ = false;
    bool drops_mine_ = false;
    std::string shown_;
    bool shown_again_ = false;
    std::vector<lease> got_;
    lease_set set_;
};

}  // namespace mortise::test

#endif
