// SPDX-License-Identifier: BSL-1.0
// A program that is linked with the store in memory only, and what the errors for the others say.
#include <mortise/error.hpp>
#include <mortise/open_store.hpp>

#include <cstdio>
#include <string>

namespace {

/// Whether the store cannot be opened, with the advice to link that library.
bool is_sent_to(const char* url, const std::string& library) {
    try {
        mortise::open_store(url);
        return false;
    } catch (const mortise::error& refusal) {
        std::puts(refusal.what());
        return refusal.code() == mortise::errc::unknown_scheme &&
               refusal.remedy() == "link " + library + ", or use memory:";
    }
}

}  // namespace

int main() {
    mortise::open_store("memory:");
    const bool passed = is_sent_to("sqlite:locks.db", "mortise::sqlite") &&
                        is_sent_to("redis://localhost", "mortise::redis") &&
                        is_sent_to("rediss://localhost", "mortise::redis") &&
                        is_sent_to("redis+sentinel://a,b/c", "mortise::redis");
    return passed ? 0 : 1;
}
