// SPDX-License-Identifier: BSL-1.0
// Names of locks are 1 to 1,024 bytes of any value, and listing those with a prefix begins at the
// right place.
#include "fuzz/target.hpp"
#include "lock/read_locks.hpp"
#include "mortise/options.hpp"

#include <string>

namespace mortise::fuzz::names_target {
namespace {

void check_prefix(const std::string& prefix, const std::string& name) {
    const std::string before = tool::name_before(prefix);
    if (prefix.empty()) {
        MORTISE_ASSERT(before.empty());
        return;
    }
    MORTISE_ASSERT(before < prefix);
    if (name.starts_with(prefix))
        MORTISE_ASSERT(before < name);
    // Nothing lies between it and the prefix.
    if (name.size() <= name_size_max && name < prefix)
        MORTISE_ASSERT(name <= before);
}

}  // namespace

MORTISE_FUZZ_TARGET(names) {
    const std::string prefix = in.text(32);
    std::string name = in.text(1'100);
    if (in.flag())
        name.insert(0, prefix);
    if (in.flag())
        name.resize(name_size_max + in.pick(3) - 1, '\xff');

    const auto wrong = check_name(name);
    MORTISE_ASSERT(wrong.has_value() == (name.empty() || name.size() > name_size_max));
    if (wrong)
        MORTISE_ASSERT(wrong->code() == condition::bad_argument);
    check_prefix(prefix, name);
    check_prefix(name.substr(0, name_size_max), prefix);
}

}  // namespace mortise::fuzz::names_target
