-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: GENERATION ID. Says o, whether the request was there or not; l.
local G, id = match(ARGV[1], '^(%d+) (%d+)$')
actor = named_by(KEYS[2])
if not may_act(session_of(actor), G) then
    return 'l'
end
local lock, wish = lock_at(FIRST), call('HGET', KEYS[2], id)
call('HDEL', KEYS[2], id)  -- Allowed without memory; so are all writes after it.
if remove_entry(lock, actor, id, wish) then
    grant_next(lock)
    finish()
end
return 'o'
