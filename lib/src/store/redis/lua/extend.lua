-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: GENERATION ID BASE[:SLOT] HOLD. That grant ends HOLD milliseconds from now, or, for -, not
-- by itself. Says h HOLD, counted from the grant, or -; n (there is no such grant), l.
local G, id, base, slot, hold = match(ARGV[1], '^(%d+) (%d+) (%d+):?(%d*) ([%d-]+)$')
actor = named_by(KEYS[2])
if not may_act(session_of(actor), G) then
    return 'l'
end
local lock = lock_at(FIRST)
local holder = find_holder(lock, actor, id)
if not holder or holder.base ~= base or holder.slot ~= (slot == '' and '0' or slot) then
    return 'n'
elseif holder.hold ~= '' and holder.since + holder.hold * 1000 <= now() then
    return 'n'
end
note_end(lock, holder, false)
local kept = math.max(0, now() - holder.since)
holder.hold = hold == '-' and '' or digits(math.ceil(kept / 1000) + hold)
note_end(lock, holder, true)
call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
if lock.crowd then
    call('HSET', KEYS[lock.place + 2], actor .. ':' .. id, text_of(holder))
end
lock.touched = true  -- Nobody watches for that: hence not `touch_lock`.
finish()
return 'h ' .. (hold == '-' and '-' or holder.hold)
