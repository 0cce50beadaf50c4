-- SPDX-License-Identifier: BSL-1.0
-- A release by the rules of the queue. ARGV[1]: GENERATION ID BASE[:SLOT]. Says y or n: whether the
-- grant was there; l.
local G, id, base, slot = match(ARGV[1], '^(%d+) (%d+) (%d+):?(%d*)$')
actor = named_by(KEYS[2])
if not may_act(session_of(actor), G) then
    return 'l'
end
local lock = lock_at(FIRST)
local holder = find_holder(lock, actor, id)
if not holder and not place_of(lock, actor, id) and not lock.queue then
    call('HDEL', KEYS[2], id)  -- It was taken away.
end
if not holder or holder.base ~= base or holder.slot ~= (slot == '' and '0' or slot) then
    return 'n'
end
call('HDEL', KEYS[2], id)  -- Allowed without memory; so are all writes after it.
drop_holder(lock, holder)
grant_next(lock)
finish()
return 'y'
