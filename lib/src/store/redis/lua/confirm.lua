-- SPDX-License-Identifier: BSL-1.0
-- What was written on other connections. KEYS: s, e, and for each grant l, h. ARGV: "GENERATION RUN
-- DEADLINE", where RUN is - if it is not known, and for each grant "ID BASE", or "ID BASE HOLD" if it was
-- extended to that, in milliseconds or - for no end. If it is here, writes:
-- the replicas acknowledge that with all that came before.
-- Says o and the ids of grants that are not here; l; x: this is another server than the one that was
-- written to, or has lost what was written.
local G, run, deadline = match(ARGV[1], '^(%d+) (%S+) (%d+)$')
local S = named_by(KEYS[2])
local of = session_of(S)
local present = present_run()
local same = run ~= '-' and present == run
if run ~= '-' and present and not same then
    return 'x'
elseif not of or of.generation ~= tonumber(G) or of.deadline < tonumber(deadline) then
    -- The same run of a server has forgotten nothing: the session has ended there.
    return (same or of and of.generation > tonumber(G)) and 'l' or 'x'
elseif not may_act(of, G) then
    return 'l'
end
call('HDEL', KEYS[2], '')
touch(S)
save_sessions()
local reply = 'o'
for at = 2, #ARGV do
    local id, base, hold = match(ARGV[at], '^(%d+) (%d+) ?(%S*)$')
    local own = S .. ':' .. id
    local text = call('HGET', KEYS[2 * at], own) or call('GET', KEYS[2 * at - 1]) or ''
    local found, its_hold =
        match(' ' .. text, ' ' .. string.gsub(own, '%W', '%%%0') .. ':%a%d*:(%d+):%d+:(%d*):')
    if found ~= base or hold ~= '' and its_hold ~= (hold == '-' and '' or hold) then
        reply = reply .. ' ' .. id
    end
end
return reply
