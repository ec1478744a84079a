// Ratios with their intervals around 1, which is marked, and what was promised, which is marked too.

import { base, card, fit, ground, hidden, line, measure, text, tooltip } from './frame.js';
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
    const narrow = width < 760;
    const step = narrow ? 46 : paper ? 22 : 28;
    const limits = rows.map((row) => (row.limit === null ? '' : `≤ ${ratio(row.limit)} ${sign(row)}`));
    const figures = rows.map((row, index) => `${ratio(row.median)}${limits[index] ? `   ${limits[index]}` : ''}`);
    const left = narrow ? 10 : Math.min(width * 0.46, Math.max(60, ...rows.map((row) => measure(row.title, font))) + 14);
    const right = narrow ? 10 : Math.max(...figures.map((content) => measure(content, bold)), 40) + 18;
    const axis = scale([1, ...rows.flatMap((row) => [row.low ?? 0, row.median, row.high ?? 0, row.limit ?? 0])], width - left - right, 48);
    const top = rows.length * step > 420 ? 40 : 24;

    return {
        height: rows.length * step + top + 26,
        option: {
            ...base(theme),
            grid: { left, right, top, bottom: 26 },
            xAxis: hidden(axis.min, axis.max),
            yAxis: hidden(0, rows.length, true),
            tooltip: tooltip(theme, ({ data }) => {
                const row = rows[data?.[1]];
                return row ? card(row.title, [['ratio', ratio(row.median)], ['95 % interval', row.high === null ? 'too few rounds' : `${ratio(row.low)} to ${ratio(row.high)}`], ...(row.limit === null ? [] : [['at most', `${ratio(row.limit)}: ${verdict(row)}`]]), ['rounds', String(row.rounds)]]) : '';
            }),
            series: [
                ground(axis, (value) => tick('ratio', value), theme, `${paper ? 9.5 : 11.5}px ${theme.font}`),
                {
                    type: 'custom',
                    z: 2,
                    data: rows.map((row, index) => [Math.log10(row.median), index]),
                    renderItem: (params, api) => {
                        const index = api.value(1);
                        const row = rows[index];
                        const { x, y: start, width: inner, height: tall } = params.coordSys;
                        const at = (value) => api.coord([Math.log10(value), 0])[0];
                        const middle = start + (index + 0.5) * step;
                        const y = narrow ? middle + 11 : middle;
                        const colour = row.limit === null ? theme.larder : holds(row) ? theme.good : theme.bad;
                        // So few rounds leave the ends open: it goes from side to side.
                        const [low, high] = [row.low > 0 ? at(row.low) : x, row.high === null ? x + inner : at(row.high)];
                        const children = [{ type: 'rect', shape: { x: 0, y: middle - step / 2, width, height: step }, style: { fill: 'rgba(128,128,128,0)' }, emphasis: { style: { fill: 'rgba(128,128,128,.14)' } } }];
                        if (index === 0) {
                            children.push(line(at(1), start - 6, at(1), start + tall, theme.text, 1.5));
                            children.push(text('the same', at(1), start - 14, theme.text, font, at(1) - x < 40 ? 'left' : x + inner - at(1) < 40 ? 'right' : 'center'));
                        }
                        if (row.limit !== null) {
                            children.push(line(x, y, at(row.limit), y, theme.faint, 9));
                            children.push(line(at(row.limit), y - 9, at(row.limit), y + 9, theme.limit, 3));
                        }
                        children.push({ ...line(low, y, Math.max(high, low + 1), y, colour, 3), style: { stroke: colour, lineWidth: 3, opacity: 0.65, lineCap: 'round' } });
                        children.push({ ...mark(!holds(row) ? 'diamond' : 'circle', at(row.median), y, paper ? 4 : 5.5, colour, theme.card), silent: true });
                        if (narrow) {
                            children.push(text(fit(row.title, inner - measure(figures[index], bold) - 8, font), x, middle - 9, theme.text, font), text(figures[index], x + inner, middle - 9, theme.text, bold, 'right'));
                        } else {
                            children.push(text(fit(row.title, left - 14, font), x - 12, y, theme.text, font, 'right'), text(figures[index], width - 6, y, theme.text, bold, 'right'));
                        }
                        return { type: 'group', children };
                    },
                },
            ],
        },
        legend: [
            { mark: 'range', colour: 'soft', text: 'dot: median of the rounds; line: 95 % interval' },
            ...(rows.some((row) => row.limit !== null) ? [{ mark: 'bar', colour: 'limit', text: 'the limit' }, { mark: 'circle', colour: 'good', text: '✓ holds' }, { mark: 'diamond', colour: 'bad', text: '✗ does not hold' }, { colour: 'soft', text: '? not sure: the limit lies in the interval' }] : []),
        ],
        spoken: rows.map((row, index) => `${row.title} ${figures[index]}`),
    };
};
