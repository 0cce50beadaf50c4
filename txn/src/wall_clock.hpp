// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_WALL_CLOCK_HPP
#define MORTISE_TXN_WALL_CLOCK_HPP

/// Milliseconds since 1970, as an SQL expression: for people, for the retention, and for the time
/// of the next question. No decision depends on it.
#define MORTISE_TXN_NOW "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

#endif
