// What marks and colours mean, in HTML beside the picture: it wraps on a phone and can be reached by keyboard.

import { swatch } from './theme.js';

const svg = (width, inner) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    element.setAttribute('viewBox', `0 0 ${width} 12`);
    element.setAttribute('class', 'swatch');
    element.setAttribute('width', width);
    element.setAttribute('aria-hidden', 'true');
    for (const [name, attributes] of inner) {
        const child = document.createElementNS('http://www.w3.org/2000/svg', name);
        for (const [key, value] of Object.entries(attributes)) child.setAttribute(key, value);
        element.append(child);
    }
    return element;
};

const picture = (entry) => {
    const colour = `var(--${entry.colour})`;
    if (entry.dash) return svg(30, [['line', { x1: 0, x2: 30, y1: 6, y2: 6, style: `stroke:${colour};stroke-width:2.5;stroke-dasharray:${entry.dash === 'solid' ? 'none' : entry.dash.join(' ')}` }]]);
    if (entry.mark === 'range') return svg(30, [['line', { x1: 2, x2: 28, y1: 6, y2: 6, style: `stroke:${colour};stroke-width:3;stroke-linecap:round;opacity:.6` }], ['circle', { cx: 13, cy: 6, r: 4.5, style: `fill:${colour}` }]]);
    if (entry.mark === 'bar') return svg(12, [['line', { x1: 6, x2: 6, y1: 0, y2: 12, style: `stroke:${colour};stroke-width:3` }]]);
    return entry.mark ? swatch(entry.mark, entry.colour) : '';
};

/** @param {(subject: ?string) => void} pick for curves: which one stands out */
export const legend = (box, entries, picked, pick) => {
    box.textContent = '';
    for (const entry of entries) {
        const item = document.createElement('li');
        if (entry.ramp) {
            const [from, ramp, to] = ['span', 'i', 'span'].map((name) => document.createElement(name));
            from.textContent = entry.from;
            ramp.className = 'ramp';
            to.textContent = entry.to;
            item.append(from, ramp, to);
        } else if (entry.pick) {
            const button = document.createElement('button');
            button.type = 'button';
            button.setAttribute('aria-pressed', String(picked === entry.pick));
            button.append(picture(entry), entry.text);
            button.addEventListener('click', () => pick(picked === entry.pick ? null : entry.pick));
            item.append(button);
        } else {
            item.append(picture(entry), entry.text);
        }
        box.append(item);
    }
};
