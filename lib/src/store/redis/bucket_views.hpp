// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_REDIS_BUCKET_VIEWS_HPP
#define MORTISE_STORE_REDIS_BUCKET_VIEWS_HPP

#include "mortise/store_types.hpp"
#include "store/redis/redis_examination.hpp"

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace mortise::store_detail {

/// Merges the lists of several buckets, which are read in pages, into one in the order of the
/// names. Holds about twice as many locks as it is to give. No I/O.
class merged_list {
public:
    merged_list(std::size_t buckets, const std::string& after, std::size_t limit);

    /// The buckets of which a page is needed to go on; none: the list is complete.
    std::vector<std::size_t> wanted();
    /// How large a page is, and behind which name the next one of a bucket begins.
    std::size_t page() const noexcept { return page_; }
    const std::string& after(std::size_t bucket) const { return parts_.at(bucket).after; }
    /// Takes a page; one that is not full is the last one of its bucket.
    void add(std::size_t bucket, std::vector<lock_view> page);

    std::vector<lock_view> take() { return std::move(merged_); }

private:
    struct part {
        std::string after;
        std::deque<lock_view> read;
        bool is_over = false;
    };

    const std::size_t limit_;
    const std::size_t page_;
    std::vector<part> parts_;
    std::vector<lock_view> merged_;
};

/// The newest of the records of several buckets, each newest first.
std::vector<break_record>
merge_breaks(std::vector<std::vector<break_record>> parts, std::size_t limit);

/// The findings of all buckets together: of each subject the worst.
/// @param nodes how many nodes have buckets.
std::vector<store_finding>
merge_examinations(std::vector<redis_examination> parts, std::size_t nodes);

}  // namespace mortise::store_detail

#endif
