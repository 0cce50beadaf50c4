-- SPDX-License-Identifier: BSL-1.0
-- KEYS: s, e, d. Says the names of all sessions.
return call('ZRANGE', KEYS[3], 0, -1)
