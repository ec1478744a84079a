// A table in colours: the darker, the longer. The figures are written in it.

import { base, card, fit, hidden, measure, text, tooltip } from './frame.js';
import { quantity, ratio } from './format.js';
import { connections, isLarder, title } from './names.js';
import { between, ink } from './theme.js';

const order = (list, first) => [...first.filter((name) => list.includes(name)), ...list.filter((name) => !first.includes(name))];

export const heat = (given, figure, state, theme, { width, paper }) => {
    const byColumn = figure.columns === 'payload';
    // Where some have a serializer, those without one have nothing to be compared here, and would take all the colours.
    const serialized = given.filter((row) => row.serializer !== 'none');
    const rows = byColumn || serialized.length === 0 ? given : serialized;
    const column = (row) => (byColumn ? row.payload : row.serializer);
    const line = (row) => (byColumn ? row.subject.split(':').filter((part) => part !== 'none' && part !== 'process').join(width < 600 ? ' ' : ' + ') : `${row.engine}${row.connection === 'process' || (state.connection && state.connection !== 'all') ? '' : ` ${connections[row.connection] ?? row.connection}`}`);
    const columns = order([...new Set(rows.map(column))], ['php', 'igbinary', 'msgpack', 'none', 'short', '20kB', 'integers', '50x50', 'objects', 'integer']);
    const cells = new Map(rows.map((row) => [`${line(row)}\n${column(row)}`, row]));
    const best = (name) => Math.min(...[...new Set(columns)].map((one) => cells.get(`${name}\n${one}`)?.center ?? Infinity));
    const lines = [...new Set(rows.map(line))];
    if (byColumn) {
        const sum = (name) => columns.reduce((total, one) => total + Math.log(cells.get(`${name}\n${one}`)?.center ?? 1e12), 0);
        lines.sort((a, b) => sum(a) - sum(b));
    } else {
        lines.sort((a, b) => best(a) - best(b));
    }

    // Values of different sizes are compared each with the best of their own column; otherwise all with the best.
    const lowest = new Map(columns.map((name) => [name, Math.min(...rows.filter((row) => !byColumn || column(row) === name).map((row) => row.center))]));
    const times = (row) => row.center / lowest.get(column(row));
    const worst = Math.max(1.0001, ...rows.map(times));
    const stops = [theme.heat0, theme.heat1, theme.heat2, theme.heat3, theme.heat4];

    const narrow = width < 600;
    const crowded = narrow && columns.length > 4;
    const size = paper ? 9.5 : crowded ? 10 : narrow ? 11 : 12;
    const font = `${size}px ${theme.font}`;
    const bold = `600 ${size}px ${theme.font}`;
    const left = Math.min(width * (narrow ? (byColumn ? 0.35 : 0.46) : 0.4), Math.max(...lines.map((name) => measure(name, bold)), 40) + 12);
    // Of "memcached_nocompression TCP" the end is kept, which tells it from its neighbours.
    const short = (name) => {
        const end = byColumn || !name.includes(' ') ? '' : name.slice(name.lastIndexOf(' '));
        return fit(name.slice(0, name.length - end.length), left - 10 - measure(end, bold), bold) + end;
    };
    const step = paper ? Math.max(13, Math.min(20, 780 / lines.length)) : 27;
    const cell = (width - left - 2) / columns.length;
    const names = columns.map((name) => (byColumn ? name : title(name)));
    // Names that are wider than their columns are written aslant.
    const aslant = names.some((name) => measure(name, bold) > cell - 4);
    const head = aslant ? 24 + Math.min(60, Math.max(...names.map((name) => measure(name, bold))) * 0.7) : 26;
    const height = lines.length * step + head + 4;
    // Where the unit does not fit beside the figure on a phone it is said in the tooltip and in the table.
    const compact = rows.some((row) => measure(quantity(row.unit, row.center), font) > cell - 4);
    const written = (row) => {
        const full = quantity(row.unit, row.center);
        return !compact ? full : full.replace(' ', '').replace('µs', 'µ').replace('ns', 'n').replace('ms', 'm').replace('kB', 'k');
    };

    return {
        height,
        option: {
            ...base(theme),
            grid: { left, right: 2, top: head, bottom: 4 },
            xAxis: hidden(0, columns.length),
            yAxis: hidden(0, lines.length, true),
            tooltip: tooltip(theme, ({ data }) => {
                const row = cells.get(`${lines[data?.[1]]}\n${columns[data?.[0]]}`);
                return row ? card(`${row.subject}, ${row.payload}`, [[row.concurrency > 1 ? 'mean' : 'median', quantity(row.unit, row.center)], [byColumn ? 'times the best of its column' : 'times the best of all', ratio(times(row))], ['p5 to p95', `${quantity(row.unit, row.low)} to ${quantity(row.unit, row.high)}`]]) : '';
            }),
            series: [
                {
                    type: 'custom',
                    data: lines.flatMap((name, y) => columns.map((one, x) => [x, y])),
                    renderItem: (params, api) => {
                        const [column, index] = [api.value(0), api.value(1)];
                        const row = cells.get(`${lines[index]}\n${columns[column]}`);
                        const x = left + column * cell;
                        const y = head + index * step;
                        const colour = row ? between(stops, Math.log(times(row)) / Math.log(worst)) : null;
                        const children = [
                            { type: 'rect', shape: { x: x + 1, y: y + 1, width: cell - 2, height: step - 2, r: 3 }, style: { fill: colour ?? theme.faint }, emphasis: { style: { stroke: theme.text, lineWidth: 2 } } },
                            row ? text(written(row), x + cell / 2, y + step / 2, ink(colour), font, 'center') : text('–', x + cell / 2, y + step / 2, theme.soft, font, 'center'),
                        ];
                        if (column === 0) children.push(text(short(lines[index]), left - 8, y + step / 2, isLarder(lines[index]) ? theme.larder : theme.text, isLarder(lines[index]) ? bold : font, 'right'));
                        if (index === 0) children.push(aslant ? { ...text(fit(names[column], 90, bold), 0, 0, theme.text, bold), x: x + cell / 2 - 3, y: head - 8, rotation: Math.PI / 4 } : text(names[column], x + cell / 2, head / 2, theme.text, bold, 'center'));
                        return { type: 'group', children };
                    },
                },
            ],
        },
        legend: [{ ramp: true, from: byColumn ? (state.operation === 'size' ? 'smallest of its column' : 'fastest of its column') : 'fastest', to: `${ratio(worst)} of that` }],
        spoken: lines.map((name) => `${name}: ${columns.map((one) => { const row = cells.get(`${name}\n${one}`); return `${title(one)} ${row ? quantity(row.unit, row.center) : 'not measured'}`; }).join(', ')}`),
    };
};
