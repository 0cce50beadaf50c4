-- SPDX-License-Identifier: BSL-1.0
-- ARGV[1]: SESSION GENERATION. Says o NOW CHANGES and the view, or l.
local S, G = match(ARGV[1], '^(%S+) (%d+)$')
local own = call('HMGET', '{P}s:' .. S, 'g', 'd', 'c')
if not may_act(own[1], own[2], G) then
    return {'l'}
end
return view_of(S, {'o', digits(now()), own[3]})
