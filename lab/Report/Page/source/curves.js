// Empirical cumulative curves: how large a share of the samples took at most so long.

import { base, card, ground, hidden, text, tooltip } from './frame.js';
import { quantity, tick, time } from './format.js';
import { family, label } from './names.js';
import { scale } from './scale.js';

const dashes = ['solid', [6, 3], [2, 2.5], [9, 3, 2, 3], [12, 4], [4, 4], [1, 3], [8, 2, 2, 2, 2, 2]];

export const curves = (rows, figure, state, theme, { width, paper, picked }) => {
    const lines = rows.filter((row) => row.curve.length > 1).sort((a, b) => a.median - b.median);
    const seen = {};
    const styles = lines.map((row) => {
        const kind = family(row.engine);
        seen[kind] = (seen[kind] ?? -1) + 1;
        return { kind, dash: dashes[seen[kind] % dashes.length] };
    });
    const small = `${paper ? 9.5 : 11.5}px ${theme.font}`;
    const left = 44;
    const right = 14;
    // One sample that waited for something else must not flatten all the others: p1 to p99 of each is what has to fit.
    const inner = (curve) => [curve[Math.floor(curve.length * 0.01)], curve[Math.ceil(curve.length * 0.99) - 1]];
    const axis = scale(lines.flatMap((row) => inner(row.curve)), width - left - right);
    const height = paper ? 330 : width < 600 ? 340 : 420;
    const clip = (value) => Math.min(Math.max(Math.log10(value), axis.min), axis.max);

    return {
        height,
        option: {
            ...base(theme),
            grid: { left, right, top: 12, bottom: 28 },
            xAxis: hidden(axis.min, axis.max),
            yAxis: hidden(0, 1),
            tooltip: tooltip(theme, ({ seriesIndex }) => {
                const row = lines[seriesIndex - 2];
                return row ? card(row.subject, [['p5', quantity(row.unit, row.low)], ['median', quantity(row.unit, row.median)], ['p95', quantity(row.unit, row.high)], ['samples', String(row.n)]]) : '';
            }),
            series: [
                ground(axis, (value) => tick(rows[0]?.unit ?? 'us', value), theme, small),
                {
                    type: 'custom',
                    silent: true,
                    z: 0,
                    data: [[axis.min, 0]],
                    renderItem: (params, api) => {
                        const { x, width: across } = params.coordSys;
                        return {
                            type: 'group',
                            children: [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
                                const [, y] = api.coord([axis.min, share]);
                                return [{ type: 'line', shape: { x1: x, y1: y, x2: x + across, y2: y }, style: { stroke: theme.line } }, text(`${share * 100} %`, x - 8, y, theme.soft, small, 'right')];
                            }),
                        };
                    },
                },
                ...lines.map((row, index) => {
                    const faded = picked !== null && picked !== row.subject;
                    return {
                        type: 'line',
                        step: 'end',
                        // A curve begins at the foot of its smallest sample.
                        data: [[clip(row.curve[0]), 0], ...row.curve.map((value, at) => [clip(value), row.share[at] / row.n])],
                        showSymbol: false,
                        triggerLineEvent: true,
                        cursor: 'default',
                        lineStyle: { color: theme[styles[index].kind], width: picked === row.subject ? 3.5 : styles[index].kind === 'larder' ? 2.5 : 1.75, type: styles[index].dash, opacity: faded ? 0.18 : 1 },
                        emphasis: { lineStyle: { width: 4 } },
                        z: picked === row.subject ? 5 : 3,
                    };
                }),
            ],
        },
        legend: lines.map((row, index) => ({ dash: styles[index].dash, colour: styles[index].kind, text: `${label(row, state)}`, pick: row.subject })),
        spoken: lines.map((row) => `${label(row, state)} ${time(row.low)} to ${time(row.high)}`),
    };
};
