-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION ID. Says o, whether the request was there or not; l.
local S, G, id = match(ARGV[1], '^(%S+) (%d+) (%d+)$')
actor = S
local own = call('HMGET', '{P}s:' .. S, 'g', 'd', id)
if not may_act(own[1], own[2], G) then
    return 'l'
end
if own[3] then
    local entry = entry_of(own[3])
    remove(S, id, entry, false)
    grant_next(entry.name)
    finish()
end
return 'o'
