// Draws the pictures of a report when they come into view, and again when the choice, the width, the colours or the
// paper change. Without it the page has all of its text and tables.

import { controls, matches, options } from './controls.js';
import { curves } from './curves.js';
import { read } from './data.js';
import { init } from './echarts.js';
import { heat } from './heat.js';
import { intervals } from './intervals.js';
import { legend } from './legend.js';
import { choice, legends } from './names.js';
import { points } from './points.js';
import { ratios } from './ratios.js';
import { theme } from './theme.js';

const kinds = {
    intervals: { draw: intervals, fields: ['operation', 'concurrency', 'connection', 'serializer', 'order'] },
    curves: { draw: curves, fields: ['payload', 'operation', 'concurrency', 'connection', 'serializer'] },
    heat: { draw: heat, fields: ['payload', 'operation', 'concurrency', 'connection'] },
    points: { draw: points, fields: ['payload', 'operation'] },
    ratios: { draw: ratios, fields: [] },
};

/** In CSS pixels: A4 without the margins that the style sheet gives it. */
const PAPER = 686;

const wanted = { operation: 'read', concurrency: 1, connection: 'socket', serializer: 'igbinary', payload: '50x50', order: 'speed' };

/** Whether every engine can be seen with this serializer: what is shown first must not leave anybody out. */
const covers = (rows, serializer) => {
    const engines = new Map();
    for (const row of rows) engines.set(row.engine, engines.get(row.engine) || row.serializer === serializer || row.serializer === 'none');
    return [...engines.values()].every(Boolean);
};

const root = document.documentElement;
const { rows: all, figures } = read();

const start = (element) => {
    const figure = { both: [], columns: '', ...figures[element.dataset.figure] };
    const kind = kinds[figure.kind];
    figure.fields = kind.fields.filter((field) => !(field in (figure.only ?? {})) && !(field === 'operation' && figure.both.length > 1) && !(field === 'payload' && figure.columns === 'payload'));
    const mine = figure.ratios ?? all.filter((row) => row.scenario === figure.scenario && matches(row, figure.only ?? {}));
    const sizes = figure.kind === 'points' ? mine.filter((row) => row.operation === 'size') : [];
    const rows = figure.kind === 'points' ? mine.filter((row) => row.operation !== 'size') : figure.kind === 'heat' && figure.columns === 'payload' ? mine : mine.filter((row) => row.operation !== 'size');

    const state = {};
    for (const field of figure.fields) {
        const values = options(rows, figure, field);
        const wish = wanted[field];
        state[field] = values.includes(wish) && (field !== 'serializer' || covers(rows, wish)) ? wish : values.includes('all') && field === 'serializer' ? 'all' : values[0];
    }

    const part = (name) => element.querySelector(`.${name}`);
    const said = part('says').textContent;
    let picked = null;
    let chart = null;
    let drawn = '';

    const draw = (paper = false) => {
        const width = paper ? PAPER : Math.floor(part('picture').clientWidth);
        if (width === 0) return;
        const colours = theme();
        const now = `${width} ${paper} ${picked} ${colours.page} ${JSON.stringify(state)}`;
        if (now === drawn) return;
        drawn = now;

        const chosen = figure.ratios ? rows : rows.filter((row) => matches(row, state));
        const shown = chosen.find(({ operation }) => operation === 'read') ?? chosen[0];
        const key = figure.ratios || !shown ? '' : figure.columns === 'payload' ? `|${state.operation}|` : ['payload', 'operation', 'concurrency'].map((field) => state[field] ?? shown[field]).join('|');
        part('says').textContent = figure.says?.[key] ?? said;
        part('chosen').textContent = Object.entries(state).filter(([field, value]) => field !== 'order' && value !== undefined).map(([field, value]) => `${legends[field].toLowerCase()}: ${choice(field, value)}`).join('; ');
        part('nothing').hidden = chosen.length > 0;
        part('picture').hidden = chosen.length === 0;
        if (chosen.length === 0) {
            part('legend').textContent = '';
            return;
        }
        const { option, height, legend: entries, spoken } = kind.draw(chosen, figure, state, colours, { width, paper, picked, sizes });
        const canvas = part('picture');
        canvas.style.height = `${height}px`;
        canvas.style.width = paper ? `${width}px` : '';
        chart ??= init(canvas, null, { renderer: 'svg', width, height });
        chart.resize({ width, height, silent: true });
        chart.setOption(option, { notMerge: true });
        canvas.setAttribute('aria-label', `${element.querySelector('h4').textContent}. ${spoken.slice(0, 12).join('; ')}${spoken.length > 12 ? `; and ${spoken.length - 12} more, in the table below` : ''}.`);
        legend(part('legend'), entries, picked, (subject) => {
            const focus = [...part('legend').querySelectorAll('button')].indexOf(document.activeElement);
            picked = subject;
            draw();
            part('legend').querySelectorAll('button')[focus]?.focus();
        });
    };
    controls(part('controls'), rows, figure, state, () => draw());
    return { element, draw, visible: false };
};

const pictures = [];

const begin = () => {
    const byElement = new Map();
    const seen = new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) {
            const picture = byElement.get(target);
            picture.visible = isIntersecting;
            if (isIntersecting) picture.draw();
        }
    }, { rootMargin: '800px 0px' });
    let frame = 0;
    const again = () => {
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(() => {
            if (!root.classList.contains('paper')) pictures.filter(({ visible }) => visible).forEach(({ draw }) => draw());
        });
    };
    const sized = new ResizeObserver(again);
    for (const element of document.querySelectorAll('figure[data-figure]')) {
        const picture = start(element);
        pictures.push(picture);
        byElement.set(element, picture);
        seen.observe(element);
        sized.observe(element);
    }
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', again);

    // On paper every picture is there, in light colours and as wide as the paper is.
    addEventListener('beforeprint', () => {
        root.classList.add('paper');
        pictures.forEach(({ draw }) => draw(true));
    });
    addEventListener('afterprint', () => {
        root.classList.remove('paper');
        pictures.forEach(({ element, draw }) => {
            element.querySelector('.picture').style.width = '';
            draw();
        });
    });

    // Tables come open, for readers without scripts; with pictures they would only be in the way.
    const tables = [...document.querySelectorAll('details.table')];
    for (const table of tables) table.open = false;
    const button = document.getElementById('tables');
    button.addEventListener('click', () => {
        const open = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(open));
        for (const table of tables) table.open = open;
    });
};

try {
    begin();
    root.classList.add('ready');
} catch (error) {
    root.classList.remove('js');
    throw error;
}
