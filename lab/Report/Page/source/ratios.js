// Ratios with their intervals around 1, which is marked, and what was promised, which is marked too.

import { base, card, ground, hidden, line, measure, text, tooltip, wrap } from './frame.js';
import { ratio, tick } from './format.js';
import { scale } from './scale.js';
import { mark } from './theme.js';

/** Whether it holds, and whether another run may find otherwise: the interval has the limit in it. */
const holds = ({ median, limit }) => limit === null || median <= limit;
const sure = ({ low, high, limit }) => limit === null || (high ?? Infinity) < limit || (low ?? 0) > limit;
const verdict = (row) => `${holds(row) ? 'holds' : 'does not hold'}${sure(row) ? '' : ', not sure'}`;
const sign = (row) => `${holds(row) ? '✓' : '✗'}${sure(row) ? '' : ' ?'}`;

export const ratios = (rows, figure, state, theme, { width, paper }) => {
    const small = paper ? 10 : 12;
    const font = `${small}px ${theme.font}`;
    const bold = `600 ${small}px ${theme.font}`;
    const limits = rows.map((row) => (row.limit === null ? '' : `≤ ${ratio(row.limit)} ${sign(row)}`));
    const figures = rows.map((row, index) => `${ratio(row.median)}${limits[index] ? `   ${limits[index]}` : ''}`);
    const figureWidth = Math.max(...figures.map((content) => measure(content, bold)), 40);
    const left = 10;
    const right = 14;
    // What is compared needs a sentence: it stands above its interval, on as many lines as it takes.
    const titles = rows.map((row) => wrap(row.title, width - left - right - figureWidth - 16, font));
    const leading = small + 4;
    const gap = paper ? 16 : 20;
    const steps = titles.map((lines) => lines.length * leading + gap + 8);
    const tops = steps.map((_, index) => steps.slice(0, index).reduce((sum, step) => sum + step, 0));
    const middles = titles.map((lines, index) => tops[index] + lines.length * leading + gap / 2 + 1);
    const total = steps.reduce((sum, step) => sum + step, 0);
    const axis = scale([1, ...rows.flatMap((row) => [row.low ?? 0, row.median, row.high ?? 0, row.limit ?? 0])], width - left - right, 80);
    const top = 26;

    return {
        height: total + top + 26,
        option: {
            ...base(theme),
            grid: { left, right, top, bottom: 26 },
            xAxis: hidden(axis.min, axis.max),
            yAxis: hidden(0, 1, true),
            tooltip: tooltip(theme, ({ data }) => {
                const row = rows[data?.[2]];
                return row ? card(row.title, [['ratio', ratio(row.median)], ['95 % interval', row.high === null ? 'too few rounds' : `${ratio(row.low)} to ${ratio(row.high)}`], ...(row.limit === null ? [] : [['at most', `${ratio(row.limit)}: ${verdict(row)}`]]), ['rounds', String(row.rounds)]]) : '';
            }),
            series: [
                ground(axis, (value) => tick('ratio', value), theme, `${paper ? 9.5 : 11.5}px ${theme.font}`, false),
                {
                    type: 'custom',
                    silent: true,
                    z: 1,
                    data: [[0, 0]],
                    renderItem: (params, api) => {
                        const { x, y, width: inner, height: tall } = params.coordSys;
                        const [one] = api.coord([0, 0]);
                        return {
                            type: 'group',
                            children: [
                                ...rows.flatMap((row, index) => (row.limit === null ? [] : [line(x, middles[index] + y, api.coord([Math.log10(row.limit), 0])[0], middles[index] + y, theme.faint, 9)])),
                                line(one, y - 6, one, y + tall, theme.soft, 1.5, [4, 3]),
                                text('1: the same', one, y - 15, theme.text, font, one - x < 50 ? 'left' : x + inner - one < 50 ? 'right' : 'center'),
                            ],
                        };
                    },
                },
                {
                    type: 'custom',
                    z: 2,
                    data: rows.map((row, index) => [Math.log10(row.median), 0, index]),
                    renderItem: (params, api) => {
                        const index = api.value(2);
                        const row = rows[index];
                        const { x, y: start, width: inner } = params.coordSys;
                        const at = (value) => api.coord([Math.log10(value), 0])[0];
                        const begin = start + tops[index];
                        const y = start + middles[index];
                        const colour = row.limit === null ? theme.larder : holds(row) ? theme.good : theme.bad;
                        // So few rounds leave the ends open: it goes from side to side.
                        const [low, high] = [row.low > 0 ? at(row.low) : x, row.high === null ? x + inner : at(row.high)];
                        const children = [{ type: 'rect', shape: { x: 0, y: begin, width, height: steps[index] }, style: { fill: 'rgba(128,128,128,0)' }, emphasis: { style: { fill: 'rgba(128,128,128,.14)' } } }];
                        if (row.limit !== null) {
                            children.push(line(at(row.limit), y - 9, at(row.limit), y + 9, theme.limit, 3));
                        }
                        children.push({ ...line(low, y, Math.max(high, low + 1), y, colour, 3), style: { stroke: colour, lineWidth: row.high === null ? 1.5 : 3, lineDash: row.high === null ? [4, 4] : null, opacity: 0.65, lineCap: 'round' } });
                        children.push({ ...mark(!holds(row) ? 'diamond' : 'circle', at(row.median), y, paper ? 4 : 5.5, colour, theme.card), silent: true });
                        titles[index].forEach((content, at) => children.push(text(content, x, begin + (at + 0.5) * leading, theme.text, font, 'left', { backgroundColor: theme.card, padding: [1, 4, 1, 0] })));
                        children.push(text(figures[index], x + inner, begin + leading / 2, theme.text, bold, 'right', { backgroundColor: theme.card, padding: [1, 0, 1, 4] }));
                        return { type: 'group', children };
                    },
                },
            ],
        },
        legend: [
            { mark: 'range', colour: 'soft', text: 'dot: median of the rounds; line: 95 % interval' },
            ...(rows.some((row) => row.high === null) ? [{ dash: [4, 4], colour: 'soft', text: 'too few rounds for an interval' }] : []),
            ...(rows.some((row) => row.limit !== null) ? [{ mark: 'bar', colour: 'limit', text: 'the limit' }, { mark: 'circle', colour: 'good', text: '✓ holds' }, { mark: 'diamond', colour: 'bad', text: '✗ does not hold' }, { colour: 'soft', text: '? not sure: the limit lies in the interval' }] : []),
        ],
        spoken: rows.map((row, index) => `${row.title} ${figures[index]}`),
    };
};
