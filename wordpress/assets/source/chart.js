// Bars, one on the other, of what each tier answered and what was not found, and the share answered as a line. What the
// request answers itself is many times all else and would hide it, so that is shown when it is asked for.

import uPlot from 'uplot';

const COLOURS = { misses: '#d63638', near: '#135e96', disk: '#72aee6', far: '#4f94d4', request: '#c3c4c7', ratio: '#1d2327' };
const HIDDEN = ['request'];
const HEIGHT = 280;

export const draw = (frame, { series, rows }) => {
    const place = frame.querySelector('.larder-plot');
    const short = new Intl.NumberFormat(document.documentElement.lang || 'en', { notation: 'compact' });
    const shown = Object.fromEntries(series.map(({ id }) => [id, !HIDDEN.includes(id)]));
    // From the top of the pile down, for uPlot draws one series over the other. Losses lie at the bottom, in full sight.
    const order = ['request', 'far', 'disk', 'near', 'misses'].map((id) => series.find((one) => one.id === id)).filter(Boolean);
    const ratio = series.find(({ id }) => id === 'ratio');

    const data = () => {
        const sums = rows.map(() => 0);
        const piles = [...order].reverse().map(({ id, values }) => values.map((value, i) => (shown[id] ? (sums[i] += value) : null)));
        return [rows.map((_, i) => i), ...piles.reverse(), ratio.values.map((value) => (shown.ratio ? value : null))];
    };

    // The hours whose clock a column's width leaves room for: 0:00 always is one of them.
    const ticks = (plot) => {
        const step = [3, 6, 12, 24].find((hours) => (plot.bbox.width / devicePixelRatio / rows.length) * hours >= 56) ?? 24;
        return rows.flatMap(({ clock }, i) => (clock % step === 0 ? [i] : []));
    };

    const reading = frame.querySelector('.larder-reading');
    const hint = reading.textContent;
    const read = (index) => {
        const row = rows[index];
        reading.textContent = row ? `${row.title} · ${series.flatMap(({ id, name }, i) => (shown[id] ? [`${name}: ${row.cells[i]}`] : [])).join(' · ')}` : hint;
    };

    const font = '12px -apple-system, BlinkMacSystemFont, "Segoe UI", Roboto, sans-serif';
    const axis = { font, stroke: '#50575e', grid: { stroke: '#f0f0f1', width: 1 }, ticks: { stroke: '#dcdcde', width: 1, size: 4 } };
    const plot = new uPlot(
        {
            width: place.clientWidth,
            height: HEIGHT,
            legend: { show: false },
            cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
            scales: {
                x: { time: false, range: [-0.5, rows.length - 0.5] },
                y: { range: (_, __, top) => [0, Math.max(1, top * 1.05)] },
                '%': { range: [0, 100] },
            },
            axes: [
                { ...axis, size: 32, splits: ticks, values: (_, splits) => splits.map((i) => rows[i].label), grid: { show: false } },
                { ...axis, size: 56, values: (_, splits) => splits.map((value) => (Number.isInteger(value) ? short.format(value) : '')) },
                { ...axis, scale: '%', side: 1, size: 48, grid: { show: false }, values: (_, splits) => splits.map((value) => `${value} %`) },
            ],
            series: [
                {},
                ...order.map(({ id }) => ({ fill: COLOURS[id], paths: uPlot.paths.bars({ size: [0.8, 40] }), points: { show: false } })),
                { scale: '%', stroke: COLOURS.ratio, width: 2, points: { size: 4, fill: COLOURS.ratio } },
            ],
            hooks: { setCursor: [({ cursor }) => read(cursor.left < 0 ? -1 : cursor.idx)] },
        },
        data(),
        place,
    );

    const keys = frame.querySelector('.larder-keys');
    for (const { id, name } of [ratio, ...[...order].reverse()]) {
        const key = keys.appendChild(document.createElement('button'));
        key.type = 'button';
        key.className = `larder-key${id === 'ratio' ? ' larder-line' : ''}`;
        key.style.setProperty('--colour', COLOURS[id]);
        key.textContent = name;
        key.setAttribute('aria-pressed', String(shown[id]));
        key.addEventListener('click', () => {
            shown[id] = !shown[id];
            key.setAttribute('aria-pressed', String(shown[id]));
            plot.setData(data());
        });
    }

    place.addEventListener('keydown', (event) => {
        const from = plot.cursor.left < 0 ? rows.length : plot.cursor.idx;
        const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: rows.length - 1 }[event.key];
        if (to === undefined || !rows[Math.min(to, rows.length - 1)]) return;
        event.preventDefault();
        plot.setCursor({ left: plot.valToPos(Math.min(to, rows.length - 1), 'x'), top: 0 });
    });
    place.addEventListener('blur', () => plot.setCursor({ left: -10, top: -10 }));
    new ResizeObserver(() => place.clientWidth > 0 && plot.setSize({ width: place.clientWidth, height: HEIGHT })).observe(place);
};
