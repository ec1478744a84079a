<?php

declare(strict_types=1);

namespace Larder\Queue;

use Larder\Driver\Redis\Eviction;

/**
 * The steps that a Redis or Valkey server runs atomically (Lua). The keys, with <q> for larder:queue:{<name>}; the braces
 * keep all keys of a queue on one server of a cluster (Redis Cluster specification, "Hash tags"):
 *
 *   <q>              a hash: n, the last id, which is not below the microsecond of its push: so none comes twice where a
 *                    server has forgotten it; w, how many messages wait; p, 1 while the queue pauses
 *   <q>:f:<priority> the fresh messages of a priority, a list: pushed without a delay, and never handed out yet
 *   <q>:p            the priorities that have such a list, a sorted set; an empty list leaves when a claim finds it
 *   <q>:r            messages that are ready again, or at last, a sorted set
 *   <q>:d            delayed ones, a sorted set by due time
 *   <q>:c            claimed ones, a sorted set by the end of their time
 *   <q>:x            the ids of the dead, a sorted set by time; <q>:e, a hash: id to
 *                  member and last error, of others too
 *   <q>:m            the messages outside the lists, a hash by id
 *   <q>:k            the keys of the messages that wait, and of those that are claimed and have theirs until they were handled,
 *                    a hash: key to id
 *   <q>:s            a hash: each schedule's name to the last time that was pushed
 *   <q>:h:<ms>       the times of messages that were handed out under a rate over so many milliseconds, a list
 *   <q>:wake         a list with at most one element, for which idle workers wait
 *
 * A message is "<id> <time> <length of its key> <key><body>", where the time is the second from which it is due, in hexadecimal
 * digits: in a list it costs little more than its body. The length begins with a zero if the message has its key until it was
 * handled. For users the queue's name stands before an id, since each queue counts
 * for itself.
 *
 * A priority is 16 hexadecimal digits, the greatest number first: every integer has its place, where the score of a sorted set
 * has 53 bits. A member of r, d and c is "<priority><id, 16 digits>:<attempts>", and in c ":<token>" follows, which ends
 * in "k" if its key stays: so who acknowledges others pays nothing for that. So r is in the
 * order of its members; and who acknowledges names the member, which is gone or another one if the message is not theirs.
 *
 * A single endpoint wants all keys declared. There KEYS has all but the lists, whose priorities are not known beforehand: fresh messages
 * then go to r at once, and who pushes looks by itself whether the server evicts.
 *
 * A full server (maxmemory) refuses a script only at its first write, and only if that may take memory. So what gives memory
 * back begins with ZREM or LPOP, and a worker goes on.
 */
final class RedisScript
{
    /** Milliseconds after which a waiting worker looks in any case: the one that was woken may have died. */
    public const LOOK = 1_000;

    /**
     * ARGV: limit, attempts at the most, how many messages may be due or overdue in one call; then for each message delay, with a
     * plus sign if its key stays, priority, key and body. Gives the ids, or a number: so many wait, and none was added.
     *
     * Looks with the first message of each second, from whatever process, whether the server evicts: see Eviction.
     */
    public const PUSH = <<<'LUA'
        local base = KEYS[1]
        local state = redis.call('HMGET', base, 'n', 'w', 'p')
        local last, waiting = tonumber(state[1] or 0), tonumber(state[2] or 0)
        local time = redis.call('TIME')
        local first, ids, known = math.max(last, time[1] * 1000000 + time[2]), {}, {}
        local n = first
        for i = 4, #ARGV, 4 do
          local key = ARGV[i + 2]
          local id = key ~= '' and (known[key] or redis.call('HGET', base .. ':k', key))
          if not id then
            n = n + 1
            id = string.format('%.0f', n)
            known[key] = key ~= '' and id or nil
          end
          ids[#ids + 1] = id
        end
        if n == first then return ids end
        if waiting + n - first > tonumber(ARGV[1]) then return waiting end
        if math.floor(last / 1000000) ~= math.floor(n / 1000000) and not KEYS[2] then

        LUA . Eviction::OF_LASTING . <<<'LUA'
        end
        local now = time[1] * 1000 + math.floor(time[2] / 1000)
        redis.call('HSET', base, 'n', n, 'w', waiting + n - first)
        local added, isDue = first, false
        for i = 4, #ARGV, 4 do
          local id = ids[i / 4]
          if tonumber(id) > added then
            added = tonumber(id)
            local delay, priority, key = tonumber(ARGV[i]), ARGV[i + 1], ARGV[i + 2]
            local zero = key ~= '' and string.sub(ARGV[i], 1, 1) == '+' and '0' or ''
            local message = id .. string.format(' %x %s%d ', math.floor((now + delay) / 1000), zero, #key) .. key .. ARGV[i + 3]
            if delay == 0 and not KEYS[2] then
              if redis.call('RPUSH', base .. ':f:' .. priority, message) == 1 then redis.call('ZADD', base .. ':p', 0, priority) end
            else
              redis.call('HSET', base .. ':m', id, message)
              redis.call('ZADD', base .. (delay > 0 and ':d' or ':r'), delay > 0 and now + delay or 0, priority .. string.format('%016.0f', added) .. ':0')
            end
            isDue = isDue or delay < 1000
            if key ~= '' then redis.call('HSET', base .. ':k', key, id) end
          end
        end
        if isDue and state[3] ~= '1' and redis.call('EXISTS', base .. ':wake') == 0 then redis.call('RPUSH', base .. ':wake', '') end
        return ids
        LUA;

    /** sha1() of PUSH, which would be a tenth of what a web request that pushes executes. If it is wrong, each push sends the script. */
    public const PUSH_HASH = 'ce102fc120c12e122cb1bcd9c5d0ce360781fda8';

    /** The same, where the key of a message may be that of one whose claim has ended. */
    public const PUSH_KEYED = self::COMMON . 'promote(clock(), tonumber(ARGV[2]), tonumber(ARGV[3]))' . "\n" . self::PUSH;

    /**
     * ARGV: as for PUSH, with one message or none; then the schedule's name, the time, what counts as noted where nothing is, and
     * the time after which a noted one counts as none.
     * The time is noted last: not where the queue is full. Gives no id where nothing was added.
     */
    public const PUSH_FOR_TIME = self::COMMON . <<<'LUA'
        promote(clock(), tonumber(ARGV[2]), tonumber(ARGV[3]))
        local latest, since, time, name = tonumber(table.remove(ARGV)), tonumber(table.remove(ARGV)), tonumber(table.remove(ARGV)), table.remove(ARGV)
        local noted = tonumber(redis.call('HGET', base .. ':s', name) or nil)
        if noted and noted > latest then noted = nil end
        if noted and time <= noted then return {} end
        local function push()

        LUA . self::PUSH . <<<'LUA'

        end
        local ids, before = {}, tonumber(redis.call('HGET', base, 'n') or 0)
        if time > (noted or since) and #ARGV > 3 then ids = push() end
        if type(ids) == 'table' and ids[1] and tonumber(ids[1]) <= before then ids = {} end
        if type(ids) == 'table' and not ids.err then redis.call('HSET', base .. ':s', name, string.format('%.0f', time)) end
        return ids
        LUA;

    /** What the further scripts have in common. */
    private const COMMON = <<<'LUA'
        local base = KEYS[1]
        local function clock()
          local time = redis.call('TIME')
          return time[1] * 1000 + math.floor(time[2] / 1000)
        end
        local function idOf(member) return string.format('%.0f', tonumber(string.sub(member, 17, 32))) end
        local function keyOf(message)
          local length, from = string.match(message, '^%d+ %x+ (%d+) ()')
          return string.sub(message, from, from + length - 1), string.match(length, '^0%d') ~= nil
        end
        -- Frees the key of a message that was handled or is dead, if it has stayed until now; or of one that waits no more.
        local function free(id, waited)
          local key, stays = keyOf(redis.call('HGET', base .. ':m', id) or '0 0 0 ')
          if key ~= '' and (stays or waited) and redis.call('HGET', base .. ':k', key) == id then redis.call('HDEL', base .. ':k', key) end
        end
        local function wake()
          if redis.call('HGET', base, 'p') ~= '1' and redis.call('EXISTS', base .. ':wake') == 0 then redis.call('RPUSH', base .. ':wake', '') end
        end
        -- Takes a claimed message back. Gives its member without the token, and its attempts; nil if it is not the caller's.
        local function take(claim)
          if redis.call('ZREM', base .. ':c', claim) == 0 then return nil end
          local member, attempts = string.match(claim, '^(%x+:(%d+)):')
          return member, tonumber(attempts)
        end
        local function remove(id)
          redis.call('HDEL', base .. ':m', id)
          redis.call('HDEL', base .. ':e', id)
        end
        local function acknowledge(claim)
          if not take(claim) then return 0 end
          local id = idOf(claim)
          if string.sub(claim, -1) == 'k' then free(id) end
          remove(id)
          return 1
        end
        -- If another message has its key, that one waits, or is handled.
        local function wait(member, due)
          local id = idOf(member)
          local message = redis.call('HGET', base .. ':m', id)
          if not message then return end
          local key = keyOf(message)
          if key ~= '' and redis.call('HSETNX', base .. ':k', key, id) == 0 and redis.call('HGET', base .. ':k', key) ~= id then
            return remove(id)
          end
          redis.call('ZADD', base .. (due and ':d' or ':r'), due or 0, member)
          redis.call('HINCRBY', base, 'w', 1)
        end
        -- The error is the last that was told.
        local function bury(member, now, told, instead)
          local id = idOf(member)
          if told == '' then
            local before = redis.call('HGET', base .. ':e', id)
            told = before and string.match(before, '^%S+ (.*)$') or instead
          end
          free(id)
          redis.call('ZADD', base .. ':x', now, id)
          redis.call('HSET', base .. ':e', id, member .. ' ' .. told)
        end
        -- Lets messages wait again whose time has come. Gives in how many milliseconds, below a second, the next is due; 0 if there
        -- are more already.
        local function promote(now, attempts, most)
          local look = 1000
          for _, name in ipairs({':d', ':c'}) do
            local list = redis.call('ZRANGEBYSCORE', base .. name, '-inf', now + 999, 'WITHSCORES', 'LIMIT', 0, most + 1)
            for i = 1, #list, 2 do
              local left = math.max(0, list[i + 1] - now)
              if left > 0 or i > 2 * most then
                look = math.min(look, left)
                break
              end
              if name == ':d' then
                redis.call('ZREM', base .. name, list[i])
                redis.call('ZADD', base .. ':r', 0, list[i])
              else
                local member, made = take(list[i])
                if made < attempts then wait(member) else bury(member, now, '', 'No worker acknowledged it in time, after ' .. made .. ' of ' .. attempts .. ' attempts.') end
              end
            end
          end
          return look
        end
        -- The next message: it and the priority of its list, or its member in r.
        local function first()
          local late = redis.call('ZRANGE', base .. ':r', 0, 0)[1]
          while true do
            local priority = redis.call('ZRANGE', base .. ':p', 0, 0)[1]
            if not priority then return nil, nil, late end
            local head = redis.call('LINDEX', base .. ':f:' .. priority, 0)
            if head and late and late < priority .. string.format('%016.0f', tonumber(string.match(head, '^%d+'))) then return nil, nil, late end
            if head then return head, priority end
            redis.call('ZREM', base .. ':p', priority)
          end
        end

        LUA;

    /**
     * ARGV: how many, visibility, token, attempts at the most, how many messages may be due or overdue in one call, a rate's
     * messages (0: there is none) and milliseconds; then claims to remove. Gives in how many milliseconds to look again, then a claim
     * and a message each. Less than none: the rate holds back what is ready, for so many milliseconds.
     */
    public const CLAIM = self::COMMON . <<<'LUA'
        for i = 8, #ARGV do acknowledge(ARGV[i]) end
        if redis.call('HGET', base, 'p') == '1' then
          redis.call('DEL', base .. ':wake')
          return {1000}
        end
        local now, most = clock(), tonumber(ARGV[1])
        local look = promote(now, tonumber(ARGV[4]), tonumber(ARGV[5]))
        local reply = {look}
        local rate, window, times = tonumber(ARGV[6]), tonumber(ARGV[7]), base .. ':h:' .. ARGV[7]
        local last, free = 0, 1
        if rate > 0 then
          last = tonumber(redis.call('LINDEX', times, -1) or 0)
          -- A clock that was set back must hold up no caller.
          if last > now + 1000 then
            redis.call('DEL', times)
            last = 0
          end
          local head = redis.call('LINDEX', times, 0)
          while head and tonumber(head) <= now - window do
            redis.call('LPOP', times)
            head = redis.call('LINDEX', times, 0)
          end
          free = rate - redis.call('LLEN', times)
          most = math.min(most, free)
        end
        while #reply < 2 * most do
          local message, priority, late = first()
          local id, attempts = nil, 1
          if message then
            id = string.match(message, '^%d+')
            redis.call('LTRIM', base .. ':f:' .. priority, 1, -1)
            redis.call('HSET', base .. ':m', id, message)
          elseif late then
            redis.call('ZREM', base .. ':r', late)
            id, priority, attempts = idOf(late), string.sub(late, 1, 16), tonumber(string.match(late, ':(%d+)')) + 1
            message = redis.call('HGET', base .. ':m', id)
          else
            break
          end
          if message then
            local key, stays = keyOf(message)
            if key ~= '' and not stays and redis.call('HGET', base .. ':k', key) == id then redis.call('HDEL', base .. ':k', key) end
            local claim = priority .. string.format('%016.0f', tonumber(id)) .. ':' .. attempts .. ':' .. ARGV[3] .. (stays and 'k' or '')
            redis.call('ZADD', base .. ':c', now + ARGV[2], claim)
            reply[#reply + 1] = claim
            reply[#reply + 1] = message
          end
        end
        local taken = (#reply - 1) / 2
        if rate > 0 and taken > 0 then
          for _ = 1, taken do redis.call('RPUSH', times, string.format('%.0f', math.max(now, last))) end
          redis.call('PEXPIRE', times, window + 1000)
        end
        if free < 1 then
          local message, _, late = first()
          if message or late then return {-math.max(1, redis.call('LINDEX', times, 0 - free) + window - now)} end
        end
        local waiting = taken > 0 and redis.call('HINCRBY', base, 'w', -taken) or 0
        -- Who gets a message leaves the watch to another: over what is ready, and over what will be soon.
        if taken > 0 and (look < 1000 or taken == most and waiting > redis.call('ZCARD', base .. ':d')) then
          wake()
        else
          redis.call('DEL', base .. ':wake')
        end
        return reply
        LUA;

    /** ARGV: claims. Gives 1 or 0 each. */
    public const ACKNOWLEDGE = self::COMMON . <<<'LUA'
        local reply = {}
        for i = 1, #ARGV do reply[i] = acknowledge(ARGV[i]) end
        return reply
        LUA;

    /** ARGV: claim, delay, attempts at the most, error. Gives 1 or 0. */
    public const RELEASE = self::COMMON . <<<'LUA'
        local member, attempts = take(ARGV[1])
        if not member then return 0 end
        local delay = tonumber(ARGV[2])
        if attempts >= tonumber(ARGV[3]) then
          bury(member, clock(), ARGV[4], 'It was given back, after ' .. attempts .. ' of ' .. ARGV[3] .. ' attempts.')
        else
          if ARGV[4] ~= '' then redis.call('HSET', base .. ':e', idOf(member), member .. ' ' .. ARGV[4]) end
          wait(member, delay > 0 and clock() + delay)
          if delay < 1000 then wake() end
        end
        return 1
        LUA;

    /** ARGV: claim, visibility. Gives 1 or 0. */
    public const EXTEND = self::COMMON . <<<'LUA'
        if not take(ARGV[1]) then return 0 end
        redis.call('ZADD', base .. ':c', clock() + ARGV[2], ARGV[1])
        return 1
        LUA;

    /** ARGV: claim, error. Gives 1 or 0. */
    public const BURY = self::COMMON . <<<'LUA'
        local member = take(ARGV[1])
        if not member then return 0 end
        bury(member, clock(), ARGV[2], '')
        return 1
        LUA;

    /**
     * ARGV: attempts at the most, how many messages may be due or overdue in one call. Gives 0 if more are, how many wait, are
     * delayed, claimed and dead, 1 while the queue pauses, and since how many seconds the next message is due or -1.
     */
    public const STATS = self::COMMON . <<<'LUA'
        local now = clock()
        local look = promote(now, tonumber(ARGV[1]), tonumber(ARGV[2]))
        local message, _, late = first()
        message = message or late and redis.call('HGET', base .. ':m', idOf(late))
        return {
          look, tonumber(redis.call('HGET', base, 'w') or 0), redis.call('ZCARD', base .. ':d'), redis.call('ZCARD', base .. ':c'),
          redis.call('ZCARD', base .. ':x'), redis.call('HGET', base, 'p') == '1' and 1 or 0,
          message and math.max(0, math.floor(now / 1000) - tonumber(string.match(message, '^%d+ (%x+)'), 16)) or -1,
        }
        LUA;

    /**
     * ARGV: how many at the most; the id of the only one and a space, or nothing; then as for STATS. Looks at as many messages as
     * wait, which takes its time where those are many.
     */
    private const LIST = self::COMMON . <<<'LUA'
        promote(clock(), tonumber(ARGV[3]), tonumber(ARGV[4]))
        local most, only, list = tonumber(ARGV[1]), ARGV[2], {}
        local step = only == '' and most or 1000
        local function add(name, priority)
          local from, found = 0, 0
          repeat
            local some = redis.call(priority and 'LRANGE' or 'ZRANGE', base .. name, from, from + step - 1)
            for _, item in ipairs(some) do
              local id = priority and string.match(item, '^%d+') or idOf(item)
              if only == '' or only == id .. ' ' then
                local message = priority and item or redis.call('HGET', base .. ':m', id)
                if message then
                  local place = priority and priority .. string.format('%016.0f', tonumber(id)) or string.sub(item, 1, 32)
                  list[#list + 1] = {place, message, priority and '0' or string.match(item, ':(%d+)'), name, item}
                  found = found + 1
                end
              end
            end
            from = from + step
          until #some < step or found >= most
        end
        add(':r')
        for _, priority in ipairs(redis.call('ZRANGE', base .. ':p', 0, -1)) do add(':f:' .. priority, priority) end
        table.sort(list, function(a, b) return a[1] < b[1] end)
        if #list < most then add(':d') end

        LUA;

    /** ARGV: as for LIST. Gives attempts and message of each. */
    public const WAITING = self::LIST . <<<'LUA'
        local reply = {}
        for i = 1, math.min(most, #list) do reply[i] = {list[i][3], list[i][2]} end
        return reply
        LUA;

    /** ARGV: as for LIST, of one message. Gives 1 or 0. */
    public const REMOVE = self::LIST . <<<'LUA'
        if #list == 0 then return 0 end
        local _, message, _, name, item = unpack(list[1])
        local id, key = string.match(message, '^%d+'), keyOf(message)
        if key ~= '' and redis.call('HGET', base .. ':k', key) == id then redis.call('HDEL', base .. ':k', key) end
        if string.sub(name, 1, 3) == ':f:' then redis.call('LREM', base .. name, 1, item) else redis.call('ZREM', base .. name, item) end
        remove(id)
        redis.call('HINCRBY', base, 'w', -1)
        return 1
        LUA;

    /** ARGV: how many at the most; then as for STATS. Gives id, time, message, member and error of each. */
    public const DEAD = self::COMMON . <<<'LUA'
        promote(clock(), tonumber(ARGV[2]), tonumber(ARGV[3]))
        local reply = {}
        local list = redis.call('ZRANGE', base .. ':x', 0, ARGV[1], 'WITHSCORES')
        for i = 1, #list, 2 do
          local message, why = redis.call('HGET', base .. ':m', list[i]), redis.call('HGET', base .. ':e', list[i])
          if message and why then reply[#reply + 1] = {list[i], list[i + 1], message, why} end
        end
        return reply
        LUA;

    /**
     * ARGV: limit, how many more are to follow in other calls, ids of the dead. Gives how many wait again, and how many waited;
     * one whose key another message has stays dead. Less than none: so many would be too many, and all stay dead.
     */
    public const RETRY = self::COMMON . <<<'LUA'
        local list, known = {}, {}
        for i = 3, #ARGV do
          local id = ARGV[i]
          local why, message = redis.call('HGET', base .. ':e', id), redis.call('HGET', base .. ':m', id)
          if why and message and not known[id] and redis.call('ZSCORE', base .. ':x', id) then
            local key = keyOf(message)
            if key == '' or not known['k' .. key] and redis.call('HEXISTS', base .. ':k', key) == 0 then
              known[id] = true
              known['k' .. key] = key ~= '' or nil
              list[#list + 1] = {id, string.sub(why, 1, 32) .. ':0'}
            end
          end
        end
        local waiting = tonumber(redis.call('HGET', base, 'w') or 0)
        local all = #list + tonumber(ARGV[2])
        if all > 0 and waiting + all > tonumber(ARGV[1]) then return {-all, waiting} end
        for _, dead in ipairs(list) do
          redis.call('ZREM', base .. ':x', dead[1])
          redis.call('HDEL', base .. ':e', dead[1])
          wait(dead[2])
        end
        if #list > 0 then wake() end
        return {#list, waiting}
        LUA;

    /**
     * ARGV: milliseconds since they died, at least; how many at the most; ids of the dead, or none for the oldest. Gives how many
     * it has removed.
     */
    public const REMOVE_DEAD = self::COMMON . <<<'LUA'
        local before, count = clock() - ARGV[1], 0
        local list = {unpack(ARGV, 3)}
        if #list == 0 then list = redis.call('ZRANGEBYSCORE', base .. ':x', '-inf', before, 'LIMIT', 0, ARGV[2]) end
        for _, id in ipairs(list) do
          local died = redis.call('ZSCORE', base .. ':x', id)
          if died and tonumber(died) <= before then
            redis.call('ZREM', base .. ':x', id)
            remove(id)
            count = count + 1
          end
        end
        return count
        LUA;

    /** ARGV: how many messages outside the lists at the most; then as for STATS. Gives how many it has removed, and how many are left. */
    public const PURGE = self::COMMON . <<<'LUA'
        promote(clock(), tonumber(ARGV[2]), tonumber(ARGV[3]))
        local count = 0
        for _, name in ipairs({':r', ':d'}) do
          local list = redis.call('ZRANGE', base .. name, 0, ARGV[1] - 1)
          for _, member in ipairs(list) do
            redis.call('ZREM', base .. name, member)
            free(idOf(member), true)
            remove(idOf(member))
          end
          count = count + #list
        end
        local left = redis.call('ZCARD', base .. ':r') + redis.call('ZCARD', base .. ':d')
        -- At last the lists, and with them all keys but those of what is being handled.
        if left == 0 then
          for _, priority in ipairs(redis.call('ZRANGE', base .. ':p', 0, -1)) do
            count = count + redis.call('LLEN', base .. ':f:' .. priority)
            redis.call('UNLINK', base .. ':f:' .. priority)
          end
          local keys = {}
          for _, claim in ipairs(redis.call('ZRANGE', base .. ':c', 0, -1)) do
            if string.sub(claim, -1) == 'k' then keys[idOf(claim)] = keyOf(redis.call('HGET', base .. ':m', idOf(claim)) or '0 0 0 ') end
          end
          redis.call('UNLINK', base .. ':p', base .. ':k', base .. ':wake')
          for id, key in pairs(keys) do redis.call('HSET', base .. ':k', key, id) end
        end
        if count > 0 then redis.call('HINCRBY', base, 'w', -count) end
        return {count, left}
        LUA;

    /** ARGV: 1 or 0. */
    public const PAUSE = self::COMMON . <<<'LUA'
        if ARGV[1] == '1' then
          redis.call('DEL', base .. ':wake')
          redis.call('HSET', base, 'p', 1)
        else
          redis.call('HDEL', base, 'p')
          wake()
        end
        return 1
        LUA;
}
