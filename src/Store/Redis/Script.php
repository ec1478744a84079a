<?php

declare(strict_types=1);

namespace Larder\Store\Redis;

/**
 * The scripts (Lua) that the server runs atomically.
 *
 * The keys, with <p> for the prefix and <e> for the epoch (16 hexadecimal digits):
 *
 *   <p>:head        "<e> <end of the journal>-<nonce> <last version of records outside it> <marked> <server> 3": one key, so
 *                   that an eviction takes all of it or nothing, and a process that reads it knows that the rest still
 *                   counts. <marked> is the position of the last change of any marker: a write whose limit is not below it
 *                   need not look at its markers. <server> is its run id and its replication id, 20 digits of each with a
 *                   dot between. 3 is the version of this layout: a process that finds another one begins a new epoch
 *   <p>:sweep       a SCAN cursor; exists while keys of former epochs may be left
 *   <p>:<e>:r:<key> a record: its header, then the body. A header: position of the key's last change, position of the last
 *                   change before it by another writer, writer (12 bytes), kind (1)
 *   <p>:<e>:j       the journal, a stream: entry <position>-0 with one field: header, nonce, key
 *   <p>:<e>:i       its index, a hash: key to the header of its last change. With it the last change of a key without a
 *                   record is one look-up, however busy the journal is. The index is complete after a position that its
 *                   member '' has: the newest change that it has forgotten, the newest forgotten one by any other writer,
 *                   and the first one's writer, since a writer's own changes do not count against it
 *   <p>:<e>:w       behind a single endpoint, a hash: the id of a web server's Watermark to the last position that it has found or
 *                   made; "<epoch> <id>" to that in a former epoch
 *   <p>:<e>:t:<id>  a body under way: HEADER bytes to be filled in, then the body. Lua hashes every byte of every
 *                   string that it gets or makes, 1.7 ns a byte on a machine where SET needs 0.1. So a large body is sent
 *                   past Lua, and the script fills in the header and renames the key.
 *
 * A nonce is 12 random hexadecimal digits, of one call of write(). A server may be set back while its process lives (it was
 * made a replica of an older server, and a primary again), and then its positions grow as before. A process that knows
 * position and nonce of a former end notices that the journal no longer contains it.
 *
 * An epoch is 11 hexadecimal digits of the milliseconds at which it began, and five random ones. A process that finds an
 * older epoch than it knows has come to a server that was left behind (an address that moved away and back).
 *
 * Positions have 16 digits and stay below 2^53, where a Lua number is exact; they are written by %016d, for ".." would round
 * them from 10^14 on. Where no number is needed they are compared as texts, which costs a tenth.
 */
final class Script
{
    /** Bytes before the body in a record. */
    public const HEADER = 45;

    /** The limit of a change that has none: above every position. */
    public const LIMITLESS = '9999999999999999';

    /** The index and the journal forget older changes each time the end passes a multiple of this, a power of two. */
    public const TRIMMED = 256;

    /**
     * Finds the epoch or begins a new one; what changed since a position; records.
     *
     * KEYS: head, sweep. ARGV: prefix, five digits for a new epoch and '1' if enough replicas must be there, the server's
     * ids as this connection knows them ('?': not yet, and a time in milliseconds before which the epoch must not have begun;
     * '': they are hidden), the epoch and the end with its nonce that this
     * store has seen, the epoch and the position of which the changes are wanted, an end with its nonce that was there then
     * or '', keys of records...
     * Behind a single endpoint more KEYS follow: all that the script will touch in an epoch that is expected, and in a new
     * one. Then the new epoch is the second of ARGV, and the third is '!', the expected epoch, and the Watermark's epoch, end,
     * milliseconds and id. If it finds another epoch, it does nothing and gives that.
     * Gives: epoch, end with its nonce, 1 if something is left to sweep, 1 if the list is complete, the list, the
     * server's milliseconds, its ids, records... unless they are large together, which is for MGET.
     */
    public const OPEN = <<<'LUA'
        local epoch, n, nonce, run, data
        -- Changes nothing, and a server that has become a replica refuses it, as does a primary that has lost its replicas.
        local refused = redis.pcall('PERSIST', KEYS[1])
        if type(refused) == 'table' and (string.find(refused.err, 'READONLY', 1, true) or string.sub(ARGV[2], 6) == '1' and string.find(refused.err, 'NOREPLICAS', 1, true)) then
          return refused
        end
        local head = redis.call('GET', KEYS[1])
        if head then
          epoch, n, nonce, run, data = string.match(head, '^(%x+) (%d+)%-(%x+) %d+ %d+ (%w*)%.(%w*) 3$')
          n = tonumber(n)
        end
        local declared, mark, markEnd, markSince, server = string.match(ARGV[3], '^!(%x*) (%x*) (%S*) (%d+) (%x+)$')
        -- The keys of another epoch were not declared.
        if declared and epoch and epoch ~= declared then return epoch end
        local time = redis.call('TIME')
        local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
        local lost, unsure = not epoch, false

        -- When an epoch began, by its name; 0 for a name that would be more than a day ahead.
        local function begun(e)
          local high, low = string.match(e, '^(%x%x%x%x%x)(%x%x%x%x%x%x)%x%x%x%x%x$')
          local at = high and tonumber(high, 16) * 16777216 + tonumber(low, 16) or 0
          return at < now + 86400000 and at or 0
        end

        -- Sets lost, or unsure, unless the end that a process has seen in an epoch is still in the journal.
        local function compare(e, known)
          if e ~= epoch then
            if begun(e) > begun(epoch or '') then lost = true end
            return
          end
          local at, was = string.match(known, '^(%d+)%-(%x+)$')
          local p = tonumber(at or 0)
          if p == n then
            if was and was ~= nonce then lost = true end
          elseif p > n then
            lost = true
          elseif p > 0 then
            local e = redis.call('XRANGE', ARGV[1] .. ':' .. epoch .. ':j', at, at)[1]
            if not e then unsure = true elseif string.sub(e[2][2], 46, 57) ~= was then lost = true end
          end
        end
        compare(ARGV[4], ARGV[5])
        compare(ARGV[6], ARGV[8])
        if epoch == ARGV[6] and tonumber(ARGV[7]) > n then lost = true end
        local notes = declared and epoch and redis.call('HGETALL', ARGV[1] .. ':' .. epoch .. ':w') or {}
        if declared then
          unsure = false
          compare(mark, markEnd)
          -- The journal has forgotten that end, or is of another epoch, which may have begun before the end was made elsewhere.
          -- What once had it has noted so.
          if unsure or epoch and mark ~= epoch and begun(epoch) < tonumber(markSince) then
            local name, noted = mark == epoch and server or mark .. ' ' .. server, ''
            for i = 1, #notes, 2 do
              if notes[i] == name then noted = notes[i + 1] end
            end
            if noted < string.sub(markEnd, 1, 16) then lost = true end
          end
        end

        local function info(section)
          local text = redis.pcall('INFO', section)
          return type(text) == 'string' and text or ''
        end
        local function digits(text, name)
          local _, at = string.find(text, name .. ':', 1, true)
          return at and string.match(string.sub(text, at + 1, at + 20), '^%w*') or ''
        end

        local hereRun, hereData = string.match(ARGV[3], '^(%w*)%.(%w*)$')
        local since = string.match(ARGV[3], '^%?(%d*)$')
        if since and since ~= '' and begun(epoch or '') < tonumber(since) then lost = true end
        if since or (unsure and hereRun) then
          local replication = info('replication')
          if string.find(replication, 'role:slave', 1, true) then return redis.error_reply('READONLY it is a replica') end
          hereData = digits(replication, 'master_replid')
          -- A server makes a new replication id as it starts, and as it becomes a primary: with the same one it is the same run.
          hereRun = hereData ~= '' and hereData == data and run or digits(info('server'), 'run_id')
          -- A replica that is made a primary gets another replication id, and remembers the former one. (A primary's id
          -- changes too, when its first replica connects, or an hour after the last one left: then it remembers none.)
          if hereData ~= data and string.find(digits(replication, 'master_replid2'), '[^0]') then lost = true end
        end
        hereRun, hereData = hereRun or '', hereData or ''
        if hereRun ~= '' and hereRun ~= run then lost = true end
        if lost then
          local start = math.max(now, begun(epoch or '') + 1, begun(ARGV[4]) + 1, begun(ARGV[6]) + 1)
          local former = epoch
          epoch = declared and ARGV[2] or string.format('%05x%06x', math.floor(start / 16777216), start % 16777216) .. string.sub(ARGV[2], 1, 5)
          n, nonce = 0, '000000000000'
          -- It knows what the one before it had, and those that ended within the last hour.
          for i = 1, #notes, 2 do
            local isOlder = string.find(notes[i], ' ', 1, true)
            if not isOlder or begun(former) > now - 3600000 then
              redis.pcall('HSET', ARGV[1] .. ':' .. epoch .. ':w', isOlder and notes[i] or former .. ' ' .. notes[i], notes[i + 1])
            end
          end
          -- And what this web server knew, for its other processes that have just found the loss too.
          if declared and mark ~= '' then redis.pcall('HSET', ARGV[1] .. ':' .. epoch .. ':w', mark .. ' ' .. server, string.sub(markEnd, 1, 16)) end
          redis.call('DEL', KEYS[1])
          redis.call('SET', KEYS[1], string.format('%s %016d-%s %016d %016d ', epoch, n, nonce, n, n) .. hereRun .. '.' .. hereData .. ' 3')
          redis.call('SET', KEYS[2], '0')
          -- Longer than the fields of a list (hash-max-listpack-value): this hash soon has too many for one.
          redis.call('HSET', ARGV[1] .. ':' .. epoch .. ':i', '', string.rep('0', 32) .. string.rep('-', 48))
        end
        local base = ARGV[1] .. ':' .. epoch .. ':'
        -- A full server may refuse it.
        if declared then redis.pcall('HSET', base .. 'w', server, string.format('%016d', n)) end
        local complete, list = 0, {}
        if epoch == ARGV[6] then
          local from = tonumber(ARGV[7])
          if from == n then
            complete = 1
          elseif from < n and n - from < 12000 then
            list = redis.call('XRANGE', base .. 'j', string.format('%d', from + 1), string.format('%d', n))
            if #list == n - from then complete = 1 else list = {} end
          end
        end
        local reply = {epoch, string.format('%016d-', n) .. nonce, redis.call('EXISTS', KEYS[2]), complete, list, now, hereRun .. '.' .. hereData}
        local size, last = 0, declared and lost and 8 or #ARGV
        for i = 9, last do size = size + redis.call('STRLEN', base .. 'r:' .. ARGV[i]) end
        if size < 131072 then
          -- Beside them the markers of their tags, so that no second call asks for them: name and record in turn. Where tags lie in
          -- a body, Codec\Entry says; a signature (Codec\Signer) has 17 bytes.
          local beside, seen = {}, {}
          for i = 9, last do
            local r = redis.call('GET', base .. 'r:' .. ARGV[i])
            reply[i - 1] = r
            local at = r and string.find(string.sub(r, 46, 46), '[bs]') and 63 or 46
            if r and not declared and string.sub(r, at, at) == 'w' then
              local high, low = string.byte(r, at + 33, at + 34)
              at = at + 35
              for tag = 1, math.min(low and high * 256 + low or 0, 1000) do
                high, low = string.byte(r, at, at + 1)
                if not low then break end
                local name = string.sub(r, at + 2, at + 1 + high * 256 + low)
                at = at + 2 + #name
                if string.sub(name, 1, 2) == 't:' and not seen[name] and #beside < 4000 then
                  seen[name] = true
                  beside[#beside + 1] = name
                  beside[#beside + 1] = redis.call('GET', base .. 'r:' .. name)
                end
              end
            end
          end
          reply[#ARGV] = beside
        end
        return reply
        LUA;

    /**
     * Makes changes, each if nothing is in its way. Its 'i' is Change::HELD. It judges all of them before it writes anything, so
     * that an error leaves nothing half made.
     *
     * Each argument costs the server as much as a third of a command, and so does each text that Lua makes. So a change comes
     * as one string, of which most parts have their place, and the parts that are stored together lie together.
     *
     * KEYS: head; behind a single endpoint journal, index, <p>:<e>:w and all records and bodies too. ARGV: how the head begins if no writer has moved the end that this store has seen (46 bytes), then the next end
     * with its nonce (29) and, behind a single endpoint, the Watermark's id; how the names of the epoch's keys begin; then for each change:
     *   '-', or 'b' for a set that compares nothing, or 's'trict or 'u'nlogged; for a call of one change that may go
     *   the short way 'F' in the place of '-', and 'B' of 'b'; '-' for a removal or '1' for a body or '2' for a key that has the body; number of guards (two bytes);
     *   '+' for milliseconds to live or '=' for the millisecond of its end or ' ' for neither; limit (16; LIMITLESS);
     *   writer, kind (1), nonce, key;
     *   the body or the name of the key that has it, and those milliseconds, unless it is a removal;
     *   its guards, if it has any, in one string: the limit (16) of each, then of each the length of its key (three bytes), its key.
     * Gives '' for another epoch; or by the short way the position (16), then the header of the change before, if it is known,
     * and a byte more if there was a record; or 46 bytes for each change, with conflicts beside it if there are any. The bytes:
     *   '+' for a change that was made, '-' for a conflict, 'r' for one that the full server refused; its position (16);
     *   position (16) and writer (12) of the change before, kind of the record there was (each blank if there was none).
     * A conflict: position, writer and kind of the change in conflict, the record, number of the guard in conflict.
     *
     * A change that follows another writer's of a key without a record, and compares nothing, does not look for it: the one
     * before it then counts as the last change of any key.
     */
    public const WRITE = <<<'LUA'
        local call, sub, byte, head, meta, base = redis.call, string.sub, string.byte, redis.call('GET', KEYS[1]), ARGV[1], ARGV[2]
        if not head then return '' end
        local stream, index, stood, n, begun = base .. 'j', base .. 'i', sub(head, 1, 46), sub(meta, 47, 62), nil
        if stood ~= sub(meta, 1, 46) then
          -- Others have moved the end. The one that this store has seen must still be in the journal.
          local seen = sub(meta, 18, 33)
          begun = tonumber(sub(head, 18, 33))
          if sub(head, 1, 17) ~= sub(meta, 1, 17) or tonumber(seen) >= begun then return '' end
          if tonumber(seen) > 0 then
            local e = call('XRANGE', stream, seen, seen)[1]
            if not e or sub(e[2][2], 46, 57) ~= sub(meta, 35, 46) then return '' end
          end
          n = string.format('%016d', begun + 1)
        end
        local spec = ARGV[3]
        local mode = byte(spec)

        -- The short way of one change that nothing is in the way of. Whatever it does not expect, the long way decides.
        if (mode == 70 or mode == 66) and not (begun and (begun + 1) % 256 == 0) then
          local place, life = byte(spec, 2), byte(spec, 5)
          local limit, key = mode == 70 and sub(spec, 6, 21), sub(spec, 47)
          local record, last, other = base .. 'r:' .. key, nil, nil
          if not limit or sub(head, 65, 80) <= limit then
            last = call('GETRANGE', record, '0', '45')
            if #last >= 45 then
              if byte(last, 46) == 105 then last = false end
            elseif not limit then
              other = sub(stood, 18, 33)
            else
              last = call('HGET', index, key) or call('HGET', index, '')
            end
            if last and not other then
              other = sub(last, 33, 44) == sub(spec, 22, 33) and sub(last, 17, 32) or sub(last, 1, 16)
            end
          end
          if other and (not limit or other <= limit) and (place ~= 50 or call('STRLEN', ARGV[4]) >= 45) then
            local entry, next = n .. other .. sub(spec, 22), begun and n .. sub(meta, 63, 75) or sub(meta, 47, 75)
            local header = sub(entry, 1, 45)
            if type(redis.pcall('SETRANGE', KEYS[1], '17', next)) ~= 'table' then
              if type(redis.pcall('XADD', stream, n, '', entry)) == 'table' then
                -- The journal was damaged: nothing of this epoch can be trusted.
                call('DEL', KEYS[1])
                return ''
              end
              call('HSET', index, key, header)
              if KEYS[4] then call('HSET', KEYS[4], sub(meta, 76), n) end
              if place == 45 then
                call('DEL', record)
              elseif place == 50 then
                call('SETRANGE', ARGV[4], '0', header)
                call('RENAME', ARGV[4], record)
                call(life == 43 and 'PEXPIRE' or 'PEXPIREAT', record, ARGV[5])
              elseif life == 43 then
                call('SET', record, header .. ARGV[4], 'PX', ARGV[5])
              elseif redis.REDIS_VERSION_NUM then
                -- Scripts know the version from 7.0 on, and PXAT is as old as 6.2.
                call('SET', record, header .. ARGV[4], 'PXAT', ARGV[5])
              else
                call('SET', record, header .. ARGV[4])
                call('PEXPIREAT', record, ARGV[5])
              end
              -- Longer is only what may have been.
              return #last < 47 and n .. last or n
            end
          end
        end

        local pcall, format, nonce, records = redis.pcall, string.format, sub(meta, 64, 75), base .. 'r:'
        begun = begun or tonumber(sub(head, 18, 33))
        local v, marked, floor, ends, fresh, gone, told, conflicts, todo, count, litter, markers
        local full = false
        repeat
          n, v, marked, ends, fresh, gone, told, conflicts, todo, count, litter, markers = begun, nil, nil, nil, nil, nil, {}, nil, nil, 0, nil, nil
          local a = 3
          spec = ARGV[a]
          while spec do
            local mode, place, high, low = byte(spec, 1, 4)
            local blind = mode == 98 or mode == 66
            local writer, kind, key, limit = sub(spec, 22, 33), sub(spec, 34, 34), sub(spec, 47), tonumber(sub(spec, 6, 21))
            local body, finish, own, guards, packed, from = nil, nil, mode == 115 or mode == 117, high * 256 + low, nil, nil
            if place ~= 45 then
              body, finish = ARGV[a + 1], ARGV[a + 2]
              a = a + 2
            end
            if guards > 0 then
              a = a + 1
              packed, from = ARGV[a], guards * 16 + 1
            end
            local strict, at, was, other, is, known, p, pw, pt, guard = own, nil, nil, nil, nil, nil, nil, nil, nil, nil
            -- The key, then its guards.
            for g = 0, guards do
              local name = key
              if g > 0 then
                local h1, h2, h3 = byte(packed, from, from + 2)
                local to = from + 2 + h1 * 65536 + h2 * 256 + h3
                name, limit, own, from = sub(packed, from + 3, to), tonumber(sub(packed, g * 16 - 15, g * 16)), false, to + 1
              end
              -- h: the header of the last change; if that is not known, of the last one that may have been.
              local h, there, sure = fresh and fresh[name], true, true
              if h then
                there = not gone[name]
              else
                -- Texts, since the server prints a Lua number by way of a float.
                h = call('GETRANGE', records .. name, '0', '45')
                there = #h >= 45
                if not there and g == 0 and mode == 117 then
                  h, sure = '0000000000000000', false
                elseif not there and (g > 0 or not blind) then
                  h = call('HGET', index, name)
                  if not h then
                    floor, sure = call('HGET', index, ''), false
                    h = floor or sub(head, 18, 33)
                  end
                end
              end
              if not there and g == 0 and blind then h, sure = format('%016d', n), false end
              local position, by = sub(h, 1, 16), sub(h, 33, 44)
              local before = by == writer and sub(h, 17, 32) or position
              if g == 0 then at, was, other, is, known = position, h, before, there, sure end
              if p then
                break
              elseif g == 0 and not own and there and byte(h, 46) == 105 then
                p, pw, pt = tonumber(position), by, sub(h, 45, 45)
              elseif tonumber(own and position or before) > limit then
                p, pw, pt, guard = -1, '', '', g
                if sure and (own or by ~= writer) then
                  p, pw, pt = tonumber(position), by, sub(h, 45, 45)
                elseif sure then
                  -- One before the writer's own; or of another key, if it was not looked for.
                  local e = call('XRANGE', stream, before, before)[1]
                  if e and sub(e[2][2], 58) == name then p, pw, pt = tonumber(before), sub(e[2][2], 33, 44), sub(e[2][2], 45, 45) end
                end
              elseif g == 0 and limit > n and mode ~= 117 and limit ~= 9999999999999999 then
                p, pw, pt = -1, '', ''
              elseif g > 0 and there and byte(nonce, -1) == 48 and string.find(h, '^[mc]', 46) then
                markers = markers or {}
                markers[#markers + 1] = records .. name
              end
            end
            own = strict
            if not p and full and place ~= 45 and not (place == 49 and (mode == 117 or string.find(body, '^[imc]'))) then
              -- The server is full. Remove the old record too, unless it must stay for the next try (a counter, a lock).
              -- Records that say which values must not be served (removals, markers, intents) are never refused, nor are
              -- leases, which are short and expire.
              kind, place = 'x', own and 0 or 45
            elseif not p and place == 50 and call('STRLEN', body) < 45 then
              -- The server refused the body's SET, or evicted it at once: treat the record the same way.
              if own then p, pw, pt = -1, '', '' else place = 45 end
            end
            if p then
              told[#told + 1] = '-' .. string.rep(' ', 45)
              conflicts, litter = conflicts or {}, litter or {}
              local made = fresh and fresh[key]
              conflicts[#conflicts + 1] = {p, pw, pt, not made and call('GET', records .. key), guard or 0, made and records .. key}
              if place == 50 then litter[#litter + 1] = body end
            elseif place == 0 then
              told[#told + 1] = 'r' .. string.rep(' ', 45)
            else
              local position
              if mode == 117 then
                -- Not below the journal's end, so that a guard's limit means about the same for records of both sorts.
                v = math.max(v or tonumber(sub(head, 48, 63)), n) + 1
                position = format('%016d', v)
              else
                n = n + 1
                position = format('%016d', n)
                ends = position
                if string.find(key, '^[ft]:') then marked = position end
              end
              local header = position .. other .. writer .. kind
              if todo then
                todo[count + 1], todo[count + 2], todo[count + 3], todo[count + 4] = key, place, header, body or ''
                todo[count + 5], todo[count + 6], todo[count + 7] = byte(spec, 5), finish or '', mode
              else
                todo = {key, place, header, body or '', byte(spec, 5), finish or '', mode}
              end
              count = count + 7
              told[#told + 1] = (kind == 'x' and full and body and 'r' or '+') .. position
                .. (known and at .. sub(was, 33, 44) .. (is and sub(was, 45, 45) or ' ') or '0000000000000000             ')
              if ARGV[a + 1] then
                fresh, gone = fresh or {}, gone or {}
                fresh[key] = header .. (place == 49 and sub(body, 1, 1) or place == 50 and call('GETRANGE', body, '45', '45') or '')
                gone[key] = place == 45
              end
            end
            a = a + 1
            spec = ARGV[a]
          end
          if count == 0 then break end
          -- The server checks its memory at a script's first write only (script.c, scriptVerifyOOM), and never for DEL.
          for t = 1, full and count or 0, 7 do call('DEL', records .. todo[t]) end
          local done = pcall('SETRANGE', KEYS[1], '17', (ends and ends .. '-' .. nonce or sub(head, 18, 46))
            .. (v and format(' %016d', v) or sub(head, 47, 63)) .. (marked and ' ' .. marked or ''))
          local again = type(done) == 'table'
          if again then
            if full or not string.find(done.err, 'OOM', 1, true) then return done end
            full = true
          end
        until not again

        if n > begun then
          local fields = count > 7 and {}
          for t = 1, count, 7 do
            if todo[t + 6] ~= 117 then
              local header, key = todo[t + 2], todo[t]
              local logged = pcall('XADD', stream, sub(header, 1, 16), '', header .. nonce .. key)
              if type(logged) == 'table' then
                -- The journal was damaged: nothing of this epoch can be trusted.
                call('DEL', KEYS[1])
                return ''
              end
              if fields then fields[#fields + 1], fields[#fields + 2] = key, header end
            end
          end
          if fields then call('HSET', index, unpack(fields)) else call('HSET', index, todo[1], todo[3]) end
          if KEYS[4] then call('HSET', KEYS[4], sub(meta, 76), format('%016d', n)) end
          -- The index was lost: all that it has now came later.
          if floor == false then call('HSET', index, '', format('%016d%016d', begun, begun) .. string.rep('-', 48)) end
          -- Every 256 changes the index forgets those that are older than the last 10,000, and the journal those before them.
          if n > 10000 and math.floor(n / 256) > math.floor(begun / 256) then
            local known = call('HGET', index, '') or ''
            local from, by, low = tonumber(sub(known, 1, 16)) or 0, sub(known, 33, 44), n - 10000
            local list = known ~= '' and from < low and call('XRANGE', stream, format('%d', from + 1), format('%d', low)) or {}
            if from < low and #list == low - from then
              -- The newest change that the index forgets, and the newest of them that is not by the same writer, whose own
              -- changes do not count against it.
              local before, other, keys, old = sub(known, 1, 16), sub(known, 17, 32), {}, {}
              for i, e in ipairs(list) do
                e = e[2][2]
                if sub(e, 33, 44) ~= by then by, other = sub(e, 33, 44), before end
                before, keys[i] = sub(e, 1, 16), sub(e, 58)
              end
              for i, header in ipairs(call('HMGET', index, unpack(keys))) do
                if header and tonumber(sub(header, 1, 16)) <= low then old[#old + 1] = keys[i] end
              end
              if #old > 0 then call('HDEL', index, unpack(old)) end
              call('HSET', index, '', before .. other .. by .. string.rep('-', 36))
            elseif from < low then
              -- The journal was damaged, or the index lost.
              call('DEL', index)
            end
            call('XTRIM', stream, 'MAXLEN', '~', '10400')
          end
        end
        for t = 1, count, 7 do
          local record, place, body, life, finish = records .. todo[t], todo[t + 1], todo[t + 3], todo[t + 4], todo[t + 5]
          if place == 45 then
            call('DEL', record)
          elseif place == 50 then
            call('SETRANGE', body, '0', todo[t + 2])
            call('RENAME', body, record)
            if life == 43 then call('PEXPIRE', record, finish) elseif life == 61 then call('PEXPIREAT', record, finish) else call('PERSIST', record) end
          elseif life == 43 then
            call('SET', record, todo[t + 2] .. body, 'PX', finish)
          else
            call('SET', record, todo[t + 2] .. body)
            if life == 61 then call('PEXPIREAT', record, finish) end
          end
        end
        -- A marker expires long after its last use. One call in sixteen sees to that.
        for _, marker in ipairs(markers or {}) do
          if call('PTTL', marker) < 1296000000 then call('PEXPIRE', marker, '2592000000') end
        end
        local words = told[2] and table.concat(told) or told[1]
        if not conflicts then return words end
        for _, body in ipairs(litter) do call('UNLINK', body) end
        for _, c in ipairs(conflicts) do
          -- A record that this call has made.
          if c[6] then c[4] = call('GET', c[6]) end
        end
        return {words, conflicts}
        LUA;

    /** sha1() of OPEN and of WRITE, which would be half of what a web request executes. If one is wrong, each call sends the script. */
    public const OPEN_HASH = 'a3b1f5bbe18f7dc38b4514a9d1214483ffddceab';
    public const WRITE_HASH = 'c595b34ad1825b9fb1236232fa06113a9d27dd8c';
}
