// What things are called, and which belong together.

const titles = {
    larder: 'Larder',
    apcu: 'APCu',
    redis: 'Redis, Valkey by phpredis',
    predis: 'Redis by Predis',
    memcached: 'Memcached',
    files: 'files',
    other: 'others',
    none: 'no serializer',
};

export const title = (name) => titles[name] ?? name;

/** The segment is Larder's too, without the rest of it. */
export const isLarder = (engine) => engine.startsWith('larder') || engine === 'segment' || engine.startsWith('segment ');

export const families = ['larder', 'apcu', 'redis', 'predis', 'memcached', 'files', 'other'];

export const family = (engine) => {
    if (isLarder(engine)) return 'larder';
    if (engine.startsWith('memcached')) return 'memcached';
    if (engine === 'valkey') return 'redis';
    if (engine === 'files' || engine === 'file_get_contents' || engine === 'opcache') return 'files';
    return families.includes(engine) ? engine : 'other';
};

/** The segment's own form has Larder's colour. */
export const serializer = (name) => (name === 'segment' ? 'larder' : ['php', 'igbinary', 'msgpack'].includes(name) ? name : 'none');

/** A subject's name without the parts that all of a picture share or that say "none". */
export const label = (row, state) => {
    const parts = row.subject.split(':');
    return parts
        .filter((part, index) => index === 0 || !(part === 'none' || part === 'process' || (part === row.connection && state.connection && state.connection !== 'all') || (part === row.serializer && state.serializer && state.serializer !== 'all')))
        .join(' ');
};

export const connections = { process: 'in process', socket: 'socket', tcp: 'TCP', network: 'network', all: 'all' };

const operations = { cycle: 'connect, get, close', read: 'read', shuffled: 'read, keys shuffled', missing: 'read a missing key', gets: 'alone', 'gets-written': 'beside a writer' };

export const choice = (field, value) => {
    if (value === 'all') return 'all';
    if (field === 'connection') return connections[value] ?? value;
    if (field === 'concurrency') return value === 1 ? 'one' : `${value} at once`;
    if (field === 'operation') return operations[value] ?? value;
    if (field === 'order') return value === 'speed' ? 'by speed' : 'by family';
    return value;
};

export const legends = { operation: 'Operation', concurrency: 'Processes', connection: 'Connection', serializer: 'Serializer', payload: 'Value', order: 'Order', compressor: 'Compressor' };
