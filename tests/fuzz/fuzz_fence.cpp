// SPDX-License-Identifier: BSL-1.0
// The fence in a database and the gate in memory give the same answers, and both are what a model
// says that is too simple to be wrong.
#include "fuzz/target.hpp"
#include "mortise/fence/sqlite.hpp"
#include "mortise/fencing_gate.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mortise::fuzz::fence_target {
namespace {

constexpr int steps_max = 64;

class fence_walk {
public:
    explicit fence_walk(input in) : in_(in) {
        sqlite3* opened = nullptr;
        const int code = ::sqlite3_open(":memory:", &opened);
        db_.reset(opened);
        MORTISE_ASSERT(code == SQLITE_OK);
        for (std::string& each : resources_)
            each = in_.text(6);
    }

    bool used_up() const { return in_.used_up(); }

    void step() {
        const std::string& resource = resources_[in_.pick(resources_.size())];
        const fencing_token token = some_token();
        if (in_.pick(16) == 0)
            return forget(token.domain);
        const bool in_transaction = in_.flag();
        const bool raises = in_.flag();
        if (in_transaction)
            run("BEGIN");
        const error_code code = raises ? sqlite_fence::raise(db_.get(), resource, token)
                                       : sqlite_fence::admit(db_.get(), resource, token);
        if (in_transaction)
            run("COMMIT");
        const bool outside = !raises && !in_transaction;
        const error_code expected = judged(resource, token);
        if (outside && expected != errc::no_token) {
            MORTISE_ASSERT(code == errc::no_transaction);
            return;
        }
        MORTISE_ASSERT(code == expected);
        if (!expected)
            highest_[resource] = token;
        if (floor_)
            return;  // a gate forgets nothing
        auto& gate = gates_[resource];
        MORTISE_ASSERT(gate.admit(token) == expected);
        MORTISE_ASSERT(gate.highest() == highest_[resource]);
    }

private:
    struct closer {
        void operator()(sqlite3* db) const { ::sqlite3_close(db); }
    };

    fencing_token some_token() {
        static constexpr std::array<const char*, 4> domains{"", "a", "a#1", "sqlite:0123"};
        fencing_token token;
        token.value = in_.edge<std::uint64_t>();
        const auto domain = token_domain::parse(domains[in_.pick(domains.size())]);
        token.domain = domain.value_or(token_domain());
        return token;
    }

    /// The tokens of forgotten resources are still refused, up to the highest of them.
    void forget(const token_domain& domain) {
        const auto keep = in_.pick(3);
        const auto limit = in_.pick(3);
        const auto done = sqlite_fence::forget(db_.get(), domain, keep, limit);
        std::vector<std::uint64_t> present;
        bool strange = floor_ && floor_.domain != domain;
        for (const auto& [name, token] : highest_) {
            strange = strange || (token && token.domain != domain);
            if (token)
                present.push_back(token.value);
        }
        if (domain.empty() || strange) {
            MORTISE_ASSERT(
                !done && done.error() == (domain.empty() ? errc::no_token : errc::foreign_domain)
            );
            return;
        }
        std::sort(present.begin(), present.end());
        const auto excess = std::min(present.size() - std::min(present.size(), keep), limit);
        if (excess != 0) {
            const auto border = present[excess - 1];
            std::erase_if(highest_, [&](auto& each) { return each.second.value <= border; });
            floor_ = {std::max(floor_.value, border), domain};
        }
        MORTISE_ASSERT(done && *done >= excess);
    }

    error_code judged(const std::string& resource, const fencing_token& token) {
        if (token.value == 0 || token.value >> 63 != 0 || token.domain.empty())
            return errc::no_token;
        const auto found = highest_.find(resource);
        const fencing_token& known =
            found == highest_.end() || !found->second ? floor_ : found->second;
        if (known && known.domain != token.domain)
            return errc::foreign_domain;
        return token.value < known.value ? error_code(errc::stale_token) : error_code();
    }

    void run(const char* sql) {
        MORTISE_ASSERT(::sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK);
    }

    input in_;
    std::unique_ptr<sqlite3, closer> db_;
    std::array<std::string, 3> resources_;
    std::map<std::string, fencing_gate> gates_;
    std::map<std::string, fencing_token> highest_;
    fencing_token floor_;
};

}  // namespace

MORTISE_FUZZ_TARGET(fence) {
    fence_walk walk(in);
    for (int i = 0; i < steps_max && !walk.used_up(); ++i)
        walk.step();
}

}  // namespace mortise::fuzz::fence_target
