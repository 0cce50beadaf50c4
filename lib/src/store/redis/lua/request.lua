-- SPDX-License-Identifier: BSL-1.0
-- The short ways of a request: the lock is free; or one session has it, and nothing about the lock
-- is out of the ordinary. Otherwise says +, having changed nothing: then request_rules.lua decides.
-- KEYS: s, e, l. ARGV[1]: GENERATION ID MODE[!], where ! stands for "try".
-- Says g BASE SLOT CONTENDED (granted), q BEFORE CONTENDED (queued), n (refused), l (the session is
-- lost).
local G, id, mode, try = match(ARGV[1], '^(%d+) (%d+) (%a%d*)(!?)$')
local S, name = named_by(KEYS[2]), named_by(KEYS[3])
local read = call('HMGET', KEYS[1], 't', S)
local generation, deadline = match(read[2] or '', '^(%d+) (%d+)')
if not generation or tonumber(generation) > tonumber(G) or tonumber(deadline) <= now() then
    return 'l'
end
local last = read[1] or '0'
if not match(last, '^%d+$') then
    return '+'
end
local base, slot = digits(math.max(now(), last + 1)), mode:byte() == 112 and '1' or '0'  -- 112: p
local head = S .. ':' .. id .. ':'
if call('SET', KEYS[3], head .. mode .. ':' .. base .. ':' .. slot .. '::', 'NX') then
    call('HSET', KEYS[1], 't', base)
    call('HSET', KEYS[2], id, mode .. ' ' .. name)
    return 'g ' .. base .. ' ' .. slot .. ' 0'
end
if mode ~= 'x' then
    return '+'
end

local text = call('GET', KEYS[3])
local holder, held, its_base, waiters = match(text, '^([^:|]+):(%d+):x:(%d+):0::%d*|?([^|]*)$')
if not holder or #waiters > QUEUE_MAX or string.find(' ' .. waiters, ' ' .. head, 1, true) then
    return '+'
end
local first = match(waiters, '^[^:]+')
if holder == S and held == id or holder ~= S and holder == first then
    return '+'
end
local its = call('HGET', KEYS[1], holder)
local its_terms, its_deadline, its_ttl, its_changes, its_waits =
    match(its or '', '^(%d+ (%d+) (%d+)) (%d+) (%d+)$')
if not its_terms or tonumber(its_deadline) <= now() then
    return '+'
end

-- Whoever comes first tells the holder.
local tells = holder ~= S and not first
if tells then
    its_changes = digits(its_changes + 1)
    its = its_terms .. ' ' .. its_changes .. ' ' .. its_waits
end
local function tell()
    publish(holder, 't ' .. held .. ' ' .. its_base .. ' 0 ' .. its_changes)
end
if try == '!' then
    if tells then
        call('HSET', KEYS[1], holder, its)
        tell()
    end
    return 'n'
end
call('HSET', KEYS[2], id, 'x ' .. name)
call('SET', KEYS[3], text .. (first and ' ' or '|') .. head .. 'x::' .. digits(now()))
local terms, waits = match(read[2], '^(%d+ %d+ %d+ %d+) (%d+)$')
local own = terms .. ' ' .. digits(waits + 1)
if tells then
    call('HSET', KEYS[1], S, own, holder, its)
    tell()
else
    call('HSET', KEYS[1], S, own)
end
local before, contended = 1, '0'
for other in string.gmatch(waiters, '([^: ]+)[^ ]*') do
    before = before + 1
    contended = other ~= S and '1' or contended
end
return 'q ' .. before .. ' ' .. contended
