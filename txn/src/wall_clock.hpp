// SPDX-License-Identifier: BSL-1.0
#ifndef MORTISE_TXN_WALL_CLOCK_HPP
#define MORTISE_TXN_WALL_CLOCK_HPP

/// Milliseconds since 1970, as a part of a statement: for people, for the retention, and to know
/// when to ask. No decision rests on it.
#define MORTISE_TXN_NOW "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"

#endif
