-- SPDX-License-Identifier: BSL-1.0
-- Ends a session: it is dead from now on, and others may remove it. KEYS: s, e, d. Says o, or n: it
-- is not here.
local name = named_by(KEYS[2])
call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
local of = session_of(name)
if not of then
    return 'n'
end
of.deadline = 0
touch(name)
save_sessions()
call('ZADD', KEYS[3], 'XX', 0, name)
return 'o'
