-- leave: ends a task, whatever the reason. The task hash decides: of two finishers the second finds none and stops.
-- Acks and deletes first: a script that has freed memory may go on where Redis is full.
--
-- KEYS 1 stream of the lane     2 task hash      3 image
--      4 work in flight (hash)  5 load account (hash)    6 stored result
-- ARGV 1 group    2 reason (succeeded, failed, cancelled, expired, dead)
--      3 entry id, '' where only the task hash knows it
--      4 result ('' stores none)    5 milliseconds the result is kept
--
-- Returns {'left', edge, edge, …} with the edges to tell
--      or {'gone'}: the task had left already
--      or {'shared', waiters still waiting}: cancelled by one of several waiters
local task = redis.call('HMGET', KEYS[2], 'ledger', 'edges', 'waiters')
if not task[1] then
  if ARGV[3] ~= '' then
    redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
    redis.call('XDEL', KEYS[1], ARGV[3])
  end
  return { 'gone' }
end

local waiters = tonumber(task[3] or 1)
if ARGV[2] == 'cancelled' and waiters > 1 then
  redis.call('HSET', KEYS[2], 'waiters', waiters - 1)
  return { 'shared', waiters - 1 }
end

local entry, bytes, work, tenant = string.match(task[1], '^(%S+) (%S+) %S+ (%S+) (%S+)$')
redis.call('XACK', KEYS[1], ARGV[1], entry)
redis.call('XDEL', KEYS[1], entry)
redis.call('DEL', KEYS[2], KEYS[3])
if work ~= '-' then redis.call('HDEL', KEYS[4], work) end

local tenantCount, tenantBytes = 'count:' .. tenant, 'bytes:' .. tenant
local load = redis.call('HMGET', KEYS[5], 'count', 'bytes', tenantCount, tenantBytes)
local count, ofTenant = (load[1] or 0) - 1, (load[3] or 0) - 1
if count <= 0 then
  redis.call('DEL', KEYS[5])
elseif ofTenant <= 0 then
  redis.call('HSET', KEYS[5], 'count', count, 'bytes', string.format('%.0f', load[2] - bytes))
  redis.call('HDEL', KEYS[5], tenantCount, tenantBytes)
else
  redis.call('HSET', KEYS[5],
    'count', count, 'bytes', string.format('%.0f', load[2] - bytes),
    tenantCount, ofTenant, tenantBytes, string.format('%.0f', load[4] - bytes))
end

if ARGV[4] ~= '' then redis.call('SET', KEYS[6], ARGV[4], 'PX', ARGV[5]) end

local told = { 'left' }
for edge in string.gmatch(task[2], '%S+') do told[#told + 1] = edge end
return told
