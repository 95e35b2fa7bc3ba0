#!lua flags=allow-oom
-- look: what has become of a submission. No body is read but a result that is there. Whoever was told that it is past
-- its deadline, or lost, is never told otherwise, although a run that goes on may still end.
--
-- KEYS 1 submission (hash)    2 load account (hash)    3 stream of the lane
-- ARGV 1 submission id    2 group    3 an edge to tell when the task ends ('' tells nobody)
--
-- Returns nothing where there is no such submission, else a list: state, tenant, and then
--         waiting or pending: deadline, tasks that stand before it and itself, task id
--         finished: stored result, task id, what kind of task the model does
--         cancelled, expired (past its deadline without a result), lost: nothing more
local asked = redis.call('HMGET', KEYS[1], 'tenant', 'task', 'deadline', 'number', 'ended', 'kind')
local tenant, id, deadline, number = asked[1], asked[2], asked[3], asked[4]
if not tenant then return false end
if asked[5] then return { asked[5], tenant } end

local base = string.sub(KEYS[1], 1, -#('submission:' .. ARGV[1]) - 1)
local taskKey = base .. 'task:' .. id
local task = redis.call('HMGET', taskKey, 'ledger', 'edges')
local result = not task[1] and redis.call('GET', base .. 'result:' .. id)
if result then return { 'finished', tenant, result, id, asked[6] } end
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 >= tonumber(deadline) then
  redis.call('HSET', KEYS[1], 'ended', 'expired')
  return { 'expired', tenant }
end
if not task[1] then
  redis.call('HSET', KEYS[1], 'ended', 'lost')
  return { 'lost', tenant }
end

local edges = task[2] or ''
if ARGV[3] ~= '' and not string.find(' ' .. edges .. ' ', ' ' .. ARGV[3] .. ' ', 1, true) then
  redis.call('HSET', taskKey, 'edges', edges .. ' ' .. ARGV[3])
end
local entry = string.match(task[1], '^%S+')
-- A group that a flush took away holds nothing.
local delivered = redis.pcall('XPENDING', KEYS[3], ARGV[2], entry, entry, 1)
local load = redis.call('HMGET', KEYS[2], 'count', 'admitted')
local count = tonumber(load[1] or 0)
-- Those that were admitted later stand behind it.
local position = math.min(count, math.max(1, count - math.max(0, (load[2] or 0) - number)))
return { not delivered.err and #delivered > 0 and 'pending' or 'waiting', tenant, deadline,
  string.format('%.0f', position), id }
