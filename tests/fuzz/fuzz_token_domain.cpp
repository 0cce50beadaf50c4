// SPDX-License-Identifier: BSL-1.0
// Names of domains and of their slots: a valid name is kept as it is, and a slot is written in one
// way only.
#include "fuzz/target.hpp"
#include "mortise/lock_mode.hpp"
#include "mortise/token_domain.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace mortise::fuzz::token_domain_target {
namespace {

std::optional<token_domain> parsed(const std::string& name) {
    const auto domain = token_domain::parse(name);
    if (domain)
        MORTISE_ASSERT(domain->name() == name && !domain->empty() && domain->slot_in(*domain) == 0);
    return domain;
}

void check_slots(const token_domain& store, std::uint32_t slot) {
    const token_domain domain = store.of_slot(slot);
    MORTISE_ASSERT(domain.slot_in(store) == slot);
    MORTISE_ASSERT(parsed(std::string(domain.name())) == domain);
    MORTISE_ASSERT((domain == store) == (slot == 0));
}

}  // namespace

MORTISE_FUZZ_TARGET(token_domain) {
    const auto slot = static_cast<std::uint32_t>(in.pick(lock_mode::capacity_max + 1));
    const auto store = parsed(in.text(40));
    const auto other = parsed(in.rest());
    if (store && store->name().size() <= token_domain::store_size_max)
        check_slots(*store, slot);
    if (store && other) {
        const auto found = other->slot_in(*store);
        MORTISE_ASSERT(!found || store->of_slot(*found) == *other);
    }
}

}  // namespace mortise::fuzz::token_domain_target
