// Dot and interval: one row a subject, the median as a dot, p5 to p95 as a line, on a logarithmic scale.

import { base, card, fit, ground, hidden, line, measure, text, tooltip } from './frame.js';
import { moreIsBetter, quantity, tick } from './format.js';
import { choice, families, family, label, title } from './names.js';
import { scale } from './scale.js';
import { mark, marks } from './theme.js';

export const intervals = (rows, figure, state, theme, { width, paper }) => {
    const bySubject = new Map();
    for (const row of rows) {
        if (!bySubject.has(row.subject)) bySubject.set(row.subject, []);
        bySubject.get(row.subject).push(row);
    }
    // Of two operations in one picture the first is the dot, the second the ring.
    const lines = [...bySubject.values()].map((of) => of.sort((a, b) => figure.both.indexOf(a.operation) - figure.both.indexOf(b.operation)));
    const key = (of) => (state.order === 'family' ? families.indexOf(family(of[0].engine)) * 1e12 : 0) + (moreIsBetter(of[0].unit) ? -1 : 1) * of[0].center;
    lines.sort((a, b) => key(a) - key(b));

    const small = paper ? 10 : 12;
    const narrow = width < 600;
    const font = `${small}px ${theme.font}`;
    const bold = `600 ${small}px ${theme.font}`;
    const count = lines.length;
    const step = narrow ? 34 : paper ? Math.max(11.5, Math.min(16.5, 780 / count)) : 23;
    const fontOf = (row) => (family(row.engine) === 'larder' ? bold : font);
    const labels = lines.map((of) => label(of[0], state));
    const figures = lines.map((of) => of.map((row) => quantity(row.unit, row.center)).join(' · '));
    const left = narrow ? 8 : Math.min(width * 0.42, Math.max(60, ...lines.map((of, index) => measure(labels[index], fontOf(of[0])))) + 14);
    const right = narrow ? 8 : Math.max(50, ...figures.map((content) => measure(content, bold))) + 16;
    const unit = rows[0]?.unit ?? 'us';
    const axis = scale(rows.flatMap((row) => [row.low, row.center, row.high]), width - left - right);
    const top = count * step > 420 ? 24 : 6;
    const height = count * step + top + 26;

    return {
        height,
        option: {
            ...base(theme),
            grid: { left, right, top, bottom: 26 },
            xAxis: hidden(axis.min, axis.max),
            yAxis: hidden(0, count, true),
            tooltip: tooltip(theme, ({ data }) => {
                const of = lines[data?.[1]];
                return of ? card(of[0].subject, of.flatMap((row) => [
                    ...(of.length > 1 ? [['', choice('operation', row.operation)]] : []),
                    ...(row.concurrency > 1 ? [['mean', quantity(row.unit, row.center)]] : []),
                    ['median', quantity(row.unit, row.median)],
                    ['p5 to p95', `${quantity(row.unit, row.low)} to ${quantity(row.unit, row.high)}`],
                    ['samples', String(row.n)],
                ])) : '';
            }),
            series: [
                ground(axis, (value) => tick(unit, value), theme, `${paper ? 9.5 : 11.5}px ${theme.font}`),
                {
                    type: 'custom',
                    data: lines.map((of, index) => [Math.log10(of[0].center), index]),
                    z: 2,
                    renderItem: (params, api) => {
                        const index = api.value(1);
                        const of = lines[index];
                        const { x, y: start, width: inner } = params.coordSys;
                        const kind = family(of[0].engine);
                        const middle = start + (index + 0.5) * step;
                        const y = narrow ? middle + 9 : middle;
                        const children = [{ type: 'rect', shape: { x: 0, y: middle - step / 2, width, height: step }, style: { fill: 'rgba(128,128,128,0)' }, emphasis: { style: { fill: 'rgba(128,128,128,.14)' } } }];
                        if (!narrow) children.push(line(x, y, x + inner, y, theme.faint));
                        of.forEach((row, which) => {
                            const [low] = api.coord([Math.log10(row.low), 0]);
                            const [high] = api.coord([Math.log10(row.high), 0]);
                            const [dot] = api.coord([Math.log10(row.center), 0]);
                            children.push({ ...line(low, y, Math.max(high, low + 1), y, theme[kind], paper ? 2 : 3), style: { stroke: theme[kind], lineWidth: paper ? 2 : 3, opacity: which ? 0.45 : 0.6, lineCap: 'round' } });
                            children.push({ ...mark(which ? 'ring' : marks[kind], dot, y, paper ? 4 : 5.5, theme[kind], theme.card), silent: true });
                        });
                        const weight = kind === 'larder' ? bold : font;
                        const ink = kind === 'larder' ? theme.larder : theme.text;
                        if (narrow) {
                            const room = inner - measure(figures[index], bold) - 8;
                            children.push(text(fit(labels[index], room, weight), x, middle - 7, ink, weight, 'left', { backgroundColor: theme.card, padding: [1, 4, 1, 0] }), text(figures[index], x + inner, middle - 7, theme.text, bold, 'right', { backgroundColor: theme.card, padding: [1, 0, 1, 4] }));
                        } else {
                            children.push(text(fit(labels[index], left - 14, weight), x - 12, y, ink, weight, 'right'), text(figures[index], width - 6, y, theme.text, bold, 'right'));
                        }
                        return { type: 'group', children };
                    },
                },
            ],
        },
        legend: [
            ...families.filter((name) => lines.some((of) => family(of[0].engine) === name)).map((name) => ({ mark: marks[name], colour: name, text: title(name) })),
            ...(figure.both.length > 1 ? figure.both.map((name, index) => ({ mark: index ? 'ring' : 'circle', colour: 'soft', text: choice('operation', name) })) : [{ mark: 'range', colour: 'soft', text: `dot: ${rows[0]?.concurrency > 1 ? 'mean' : 'median'}; line: p5 to p95` }]),
        ],
        spoken: lines.map((of, index) => `${labels[index]} ${figures[index]}`),
    };
};
