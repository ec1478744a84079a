// Buttons that choose what a picture shows: radio inputs, which every keyboard and screen reader knows.

import { choice, legends } from './names.js';

const order = { operation: ['write', 'read', 'shuffled', 'missing', 'increment', 'gets', 'gets-written', 'cycle', 'size'], connection: ['process', 'socket', 'tcp', 'network', 'all'], serializer: ['php', 'igbinary', 'msgpack', 'all'], payload: ['short', '20kB', 'integers', '50x50', 'objects', 'integer'] };
const place = (list, value) => (list.indexOf(value) < 0 ? 99 : list.indexOf(value));

/** What there is to choose of a field, among the rows of a picture. */
export const options = (rows, figure, field) => {
    if (field === 'order') return ['speed', 'family'];
    const values = [...new Set(rows.map((row) => row[field]))];
    if (field === 'concurrency') return values.sort((a, b) => a - b);
    const sorted = values.sort((a, b) => place(order[field] ?? [], a) - place(order[field] ?? [], b));
    if (field === 'connection') {
        // What is in the process itself stands beside every way to a server.
        const ways = sorted.filter((value) => value !== 'process');
        return ways.length > 1 ? [...ways, 'all'] : ways;
    }
    if (field === 'serializer') {
        const real = sorted.filter((value) => order.serializer.includes(value));
        return real.length > 1 ? [...real, 'all'] : real;
    }
    return sorted;
};

export const matches = (row, state) =>
    Object.entries(state).every(([field, value]) => {
        if (field === 'order' || value === 'all' || value === undefined) return true;
        if (field === 'connection' && row.connection === 'process') return true;
        if (field === 'serializer' && !order.serializer.includes(row.serializer)) return true;
        return row[field] === value;
    });

let groups = 0;

export const controls = (box, rows, figure, state, changed) => {
    box.textContent = '';
    for (const field of figure.fields) {
        const values = options(rows, figure, field);
        if (values.length < 2) continue;
        const name = `choice${groups++}`;
        const set = document.createElement('fieldset');
        const legend = document.createElement('legend');
        legend.textContent = legends[field] ?? field;
        const row = document.createElement('div');
        row.className = 'choices';
        for (const value of values) {
            const label = document.createElement('label');
            const input = document.createElement('input');
            input.type = 'radio';
            input.name = name;
            input.checked = state[field] === value;
            input.addEventListener('change', () => {
                state[field] = value;
                changed();
            });
            const span = document.createElement('span');
            span.textContent = choice(field, value);
            label.append(input, span);
            row.append(label);
        }
        set.append(legend, row);
        box.append(set);
    }
    box.hidden = box.children.length === 0;
};
