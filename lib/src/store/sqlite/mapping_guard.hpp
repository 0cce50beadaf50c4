// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_STORE_SQLITE_MAPPING_GUARD_HPP
#define MORTISE_STORE_SQLITE_MAPPING_GUARD_HPP

#include <cstddef>

namespace mortise::store_detail {

struct guarded_mapping;

/// Keeps the process alive when somebody cuts a file that it has mapped.
///
/// Memory behind the end of the file raises SIGBUS. The guard's handler puts zeros into the place
/// of the whole mapping and notes that the file was cut, so that the access goes on and its caller
/// can find out; every other SIGBUS goes to the handler that was there before. The same is done by
/// libwayland for its shared buffers.
///
/// The handler is installed with the first guard of the process and stays. A program that installs
/// one of its own later must call the one that it replaces.
///
/// @par Threads Any.
class mapping_guard {
public:
    mapping_guard(void* memory, std::size_t bytes);
    /// The memory may be unmapped afterwards.
    ~mapping_guard();
    mapping_guard(const mapping_guard&) = delete;
    mapping_guard& operator=(const mapping_guard&) = delete;

    /// Whether the mapping was replaced by zeros: nothing that is written there is seen by others.
    bool cut() const noexcept;

private:
    guarded_mapping* entry_;
};

}  // namespace mortise::store_detail

#endif
