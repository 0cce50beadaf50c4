-- SPDX-License-Identifier: BSL-1.0
-- KEYS: s, e, w. ARGV[1]: GENERATION, or nothing: a visitor that has an inbox and no session. Has the
-- session told of the next change of any lock. Says o or l.
local S = named_by(KEYS[2])
if ARGV[1] ~= '' and not may_act(session_of(S), ARGV[1]) then
    return 'l'
end
call('SADD', KEYS[3], S)
set_state('watched', true)
save_sessions()
return 'o'
