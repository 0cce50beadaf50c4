-- SPDX-License-Identifier: BSL-1.0
-- A release by the rules of the queue. ARGV[1]: GENERATION ID BASE[:SLOT]. Says y or n: whether the
-- grant was there; l.
local G, id, base, slot = match(ARGV[1], '^(%d+) (%d+) (%d+):?(%d*)$')
actor = named_by(KEYS[2])
if not may_act(session_of(actor), G) then
    return 'l'
end
local lock = lock_at(FIRST)
if not release(lock, id, base, slot) then
    return 'n'
end
grant_next(lock)
finish()
return 'y'
