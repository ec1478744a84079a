// Size against time: what is small and what is fast are seldom the same.

import { base, card, ground, hidden, measure, text, tooltip } from './frame.js';
import { bytes, tick, time } from './format.js';
import { serializer, title } from './names.js';
import { scale } from './scale.js';
import { symbols } from './theme.js';

const shapes = ['circle', 'square', 'up', 'diamond', 'down', 'cross', 'ring'];

export const points = (rows, figure, state, theme, { width, paper, sizes }) => {
    const size = new Map(sizes.filter((row) => row.payload === state.payload).map((row) => [row.subject, row.center]));
    const dots = rows.filter((row) => size.has(row.subject)).map((row) => ({ row, size: size.get(row.subject) }));
    const compressors = [...new Set(dots.map(({ row }) => row.compressor))].sort((a, b) => (a === 'none' ? -1 : b === 'none' ? 1 : a.localeCompare(b)));
    const shape = (name) => shapes[compressors.indexOf(name) % shapes.length];
    const serializers = [...new Set(dots.map(({ row }) => serializer(row.serializer)))].sort();
    const small = `${paper ? 9.5 : 11.5}px ${theme.font}`;
    const height = paper ? 360 : width < 600 ? 360 : 440;
    const across = scale(dots.map(({ row }) => row.center), width - 100, 95);
    const up = scale(dots.map((dot) => dot.size), height - 60, 44);
    const left = Math.max(40, ...up.ticks.map(({ value }) => measure(tick('bytes', value), small))) + 12;

    return {
        height,
        option: {
            ...base(theme),
            grid: { left, right: 24, top: 30, bottom: 46 },
            xAxis: hidden(across.min, across.max),
            yAxis: hidden(up.min, up.max),
            tooltip: tooltip(theme, ({ seriesIndex }) => {
                const dot = dots[seriesIndex - 2];
                return dot ? card(dot.row.subject, [['size', bytes(dot.size)], [`time to ${dot.row.operation}`, time(dot.row.center)], ['p5 to p95', `${time(dot.row.low)} to ${time(dot.row.high)}`]]) : '';
            }),
            series: [
                ground(across, (value) => tick('us', value), theme, small),
                {
                    type: 'custom',
                    silent: true,
                    z: 0,
                    data: [[across.min, up.min]],
                    renderItem: (params, api) => {
                        const { x, y, width: inner, height: tall } = params.coordSys;
                        const children = [text('size', x - 8, 10, theme.soft, small, 'right'), text(`time to ${state.operation}, logarithmic →`, x + inner, y + tall + 32, theme.soft, small, 'right')];
                        for (const at of up.minor) {
                            const [, py] = api.coord([across.min, at]);
                            children.push({ type: 'line', shape: { x1: x, y1: py, x2: x + inner, y2: py }, style: { stroke: theme.faint } });
                        }
                        for (const { at, value } of up.ticks) {
                            const [, py] = api.coord([across.min, at]);
                            children.push({ type: 'line', shape: { x1: x, y1: py, x2: x + inner, y2: py }, style: { stroke: theme.line } }, text(tick('bytes', value), x - 8, py, theme.soft, small, 'right'));
                        }
                        return { type: 'group', children };
                    },
                },
                ...dots.map(({ row, size }) => ({
                    type: 'scatter',
                    data: [[Math.log10(row.center), Math.log10(size)]],
                    symbol: symbols[shape(row.compressor)],
                    symbolSize: (paper ? 9 : 13) * ({ square: 0.88, up: 1.1, diamond: 1.15 }[shape(row.compressor)] ?? 1),
                    itemStyle: { opacity: 1, color: theme[serializer(row.serializer)], borderColor: shape(row.compressor) === 'ring' ? theme[serializer(row.serializer)] : theme.card, borderWidth: shape(row.compressor) === 'ring' ? 2 : 1 },
                    label: { show: width >= 560, formatter: () => row.subject.split(':').filter((part) => part !== 'none').join(' + '), position: Math.log10(row.center) > across.min + (across.max - across.min) * 0.72 ? 'left' : 'right', distance: 6, color: theme.text, fontSize: paper ? 9 : 11, fontFamily: theme.font },
                    labelLayout: { hideOverlap: true, moveOverlap: 'shiftY' },
                    z: 3,
                })),
            ],
        },
        legend: [
            ...serializers.map((name) => ({ mark: 'wide', colour: name, text: title(name) })),
            ...compressors.map((name) => ({ mark: shape(name), colour: 'soft', text: name === 'none' ? 'not compressed' : name })),
        ],
        spoken: dots.map(({ row, size }) => `${row.subject} ${bytes(size)} in ${time(row.center)}`),
    };
};
