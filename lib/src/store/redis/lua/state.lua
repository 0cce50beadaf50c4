-- SPDX-License-Identifier: BSL-1.0
-- What a session has in some locks, once all is granted to it that is due. ARGV: GENERATION, and for
-- each lock an ID. Says o NOW, and for each lock: whether others wait for a grant, and "g MODE HOLD
-- SINCE BASE SLOT NAME" or "w MODE HOLD SINCE NAME", where HOLD is - for none; or two empty texts,
-- if the session has nothing there: then its index forgets it. Or l.
actor = named_by(KEYS[2])
if not may_act(session_of(actor), ARGV[1]) then
    return {'l'}
end
call('HDEL', KEYS[2], '')  -- Allowed without memory; so are all writes after it.
local reply, gone = {'o ' .. digits(now())}, {}
for at = 2, #ARGV do
    local lock = lock_at(FIRST + 4 * (at - 2), true)
    if lock and not find_holder(lock, actor, ARGV[at]) and (lock.waiters ~= '' or lock.queue) then
        grant_next(lock)
    end
end
finish()
for at = 2, #ARGV do
    local lock, id = lock_at(FIRST + 4 * (at - 2), true), ARGV[at]
    local holder, place = lock and find_holder(lock, actor, id), lock and place_of(lock, actor, id)
    local contended, text = '0', ''
    local function describe(kind, mode, hold, since, grant)
        return table.concat({kind, mode, hold == '' and '-' or hold, since}, ' ') .. grant .. ' ' ..
            lock.name
    end
    if holder then
        contended = others_wait(lock, actor) and '1' or '0'
        text = describe('g', holder.mode, holder.hold, holder.since,
                        ' ' .. holder.base .. ' ' .. holder.slot)
    elseif place then
        local mode, hold, since = match(lock.waiters, '^[^:]+:%d+:(%a%d*):(%d*):(%d+)', place)
        text = describe('w', mode, hold, since, '')
    elseif lock and lock.queue then
        local mode, hold = match(call('HGET', KEYS[2], id) or '', '^(%a%d*)@?(%d*)')
        local since = mode and call('ZSCORE', KEYS[lock.place + 1], actor .. ':' .. id .. ':' .. mode ..
                                    ':' .. hold)
        text = since and describe('w', mode, hold, digits(since), '') or ''
    end
    if text == '' then
        gone[#gone + 1] = id
    end
    reply[#reply + 1] = contended
    reply[#reply + 1] = text
end
if #gone > 0 then
    call('HDEL', KEYS[2], unpack(gone))
end
return reply
