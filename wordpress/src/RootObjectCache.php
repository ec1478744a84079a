<?php

declare(strict_types=1);

namespace Larder\WordPress;

/** The object cache of root, who uses it as its owner: see Owner. */
final class RootObjectCache extends ObjectCache
{
    public function get($key, $group = 'default', $force = false, &$found = null)
    {
        return Owner::run(function () use ($key, $group, $force, &$found): mixed {
            return parent::get($key, $group, $force, $found);
        });
    }

    public function get_multiple($keys, $group = 'default', $force = false)
    {
        return Owner::run(fn(): array => parent::get_multiple($keys, $group, $force));
    }

    public function set($key, $data, $group = 'default', $expire = 0)
    {
        return Owner::run(fn(): bool => parent::set($key, $data, $group, $expire));
    }

    public function set_multiple(array $data, $group = '', $expire = 0)
    {
        return Owner::run(fn(): array => parent::set_multiple($data, $group, $expire));
    }

    public function add($key, $data, $group = 'default', $expire = 0)
    {
        return Owner::run(fn(): bool => parent::add($key, $data, $group, $expire));
    }

    public function replace($key, $data, $group = 'default', $expire = 0)
    {
        return Owner::run(fn(): bool => parent::replace($key, $data, $group, $expire));
    }

    public function delete($key, $group = 'default', $deprecated = false)
    {
        return Owner::run(fn(): bool => parent::delete($key, $group, $deprecated));
    }

    public function incr($key, $offset = 1, $group = 'default')
    {
        return Owner::run(fn(): int|float|false => parent::incr($key, $offset, $group));
    }

    public function decr($key, $offset = 1, $group = 'default')
    {
        return Owner::run(fn(): int|float|false => parent::decr($key, $offset, $group));
    }

    public function flush()
    {
        return Owner::run(fn(): bool => parent::flush());
    }

    public function flush_network(): bool
    {
        return Owner::run(fn(): bool => parent::flush_network());
    }

    public function flush_group($group)
    {
        return Owner::run(fn(): bool => parent::flush_group($group));
    }

    public function flush_runtime()
    {
        return Owner::run(fn(): bool => parent::flush_runtime());
    }

    public function intend(string $group, string ...$keys): void
    {
        Owner::run(fn() => parent::intend($group, ...$keys));
    }

    public function outdate(string $group, int $blog = 0): void
    {
        Owner::run(fn() => parent::outdate($group, $blog));
    }

    public function written(bool $isDone): void
    {
        Owner::run(fn() => parent::written($isDone));
    }

    public function beginTransaction(): void
    {
        Owner::run(fn() => parent::beginTransaction());
    }

    public function commitTransaction(): void
    {
        Owner::run(fn() => parent::commitTransaction());
    }

    public function rollBack(): void
    {
        Owner::run(fn() => parent::rollBack());
    }

    public function rollBackToSavepoint(): void
    {
        Owner::run(fn() => parent::rollBackToSavepoint());
    }

    public function relent(string $group, string ...$keys): void
    {
        Owner::run(fn() => parent::relent($group, ...$keys));
    }

    public function close(): void
    {
        Owner::run(fn() => parent::close());
    }

    public function report(): array
    {
        return Owner::run(fn(): array => parent::report());
    }
}
