// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_OPEN_STORE_HPP
#define MORTISE_OPEN_STORE_HPP

#include "mortise/store.hpp"

#include <memory>
#include <string_view>

namespace mortise {

/// Makes a store from a URL.
///
/// | URL | store |
/// | --- | --- |
/// | `memory:` | of this client alone |
/// | `memory:NAME` | shared by all clients of this process that use the same name |
/// | `sqlite:PATH?domain=D&checkpoint_bytes=N` | for all processes of this host; the path may be
/// absolute or relative |
///
/// Characters of the path that are special in a URL (`%`, `?`, `#`, `&`) are written as `%XX`.
/// Opens nothing yet.
///
/// @throws error `unknown_scheme`, `bad_url`, or what the store finds wrong with its settings.
std::unique_ptr<store> open_store(std::string_view url);

}  // namespace mortise

#endif
