// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TESTS_SUPPORT_CAUGHT_FAILURES_HPP
#define MORTISE_TESTS_SUPPORT_CAUGHT_FAILURES_HPP

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <memory>

namespace mortise::test {

/// Keeps what fails while this is there, on all threads, instead of letting the test fail.
class caught_failures {
public:
    bool any() const { return parts_.size() != 0; }

    /// Lets the test fail with all that was kept.
    void report() {
        reporter_.reset();
        for (int i = 0; i < parts_.size(); ++i) {
            const testing::TestPartResult& part = parts_.GetTestPartResult(i);
            if (part.failed())
                ADD_FAILURE_AT(part.file_name(), part.line_number()) << part.message();
        }
    }

private:
    using reporter = testing::ScopedFakeTestPartResultReporter;

    testing::TestPartResultArray parts_;
    std::unique_ptr<reporter> reporter_ =
        std::make_unique<reporter>(reporter::INTERCEPT_ALL_THREADS, &parts_);
};

}  // namespace mortise::test

#endif
