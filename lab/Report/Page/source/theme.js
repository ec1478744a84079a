// Colours come from the style sheet, which knows light, dark and paper.

const names = ['text', 'soft', 'line', 'faint', 'page', 'card', 'limit', 'good', 'bad', 'larder', 'apcu', 'redis', 'predis', 'memcached', 'files', 'other', 'php', 'igbinary', 'msgpack', 'none', 'heat0', 'heat1', 'heat2', 'heat3', 'heat4'];

export const theme = () => {
    const style = getComputedStyle(document.documentElement);
    const colours = {};
    for (const name of names) colours[name] = style.getPropertyValue(`--${name}`).trim();
    colours.font = style.fontFamily;
    return colours;
};

/** The marks tell families apart where colours do not (print, colour blindness). */
export const marks = { larder: 'circle', apcu: 'diamond', redis: 'square', predis: 'down', memcached: 'up', files: 'wide', other: 'cross', php: 'square', igbinary: 'circle', msgpack: 'up', none: 'diamond' };

/** Of ZRender. */
export const mark = (kind, x, y, r, colour, back) => {
    const style = { fill: colour, stroke: back, lineWidth: 1.25 };
    const polygon = (points) => ({ type: 'polygon', shape: { points: points.map(([dx, dy]) => [x + dx * r, y + dy * r]) }, style });
    switch (kind) {
        case 'square': return { type: 'rect', shape: { x: x - r * 0.88, y: y - r * 0.88, width: r * 1.76, height: r * 1.76 }, style };
        case 'diamond': return polygon([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]);
        case 'up': return polygon([[0, -1.15], [1.1, 0.85], [-1.1, 0.85]]);
        case 'down': return polygon([[0, 1.15], [1.1, -0.85], [-1.1, -0.85]]);
        case 'wide': return { type: 'rect', shape: { x: x - r * 1.25, y: y - r * 0.55, width: r * 2.5, height: r * 1.1 }, style };
        case 'ring': return { type: 'circle', shape: { cx: x, cy: y, r: r * 0.8 }, style: { fill: back, stroke: colour, lineWidth: 2.5 } };
        case 'cross': return polygon([[-1.1, -0.4], [-0.4, -0.4], [-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4], [0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4]]);
        default: return { type: 'circle', shape: { cx: x, cy: y, r }, style };
    }
};

/** The same as a small SVG, for legends in HTML. Kinds and colours are ours, never the report's. */
export const swatch = (kind, name) => {
    const draw = { square: 'M2.5 2.5h7v7h-7z', diamond: 'M6 .8 11.2 6 6 11.2.8 6z', up: 'M6 1.2 11 10.2H1z', down: 'M6 10.8 11 1.8H1z', circle: 'M6 1.5a4.5 4.5 0 1 0 .01 0z', wide: 'M.5 3.8h11v4.4H.5z', ring: 'M6 2.4a3.6 3.6 0 1 0 .01 0z', cross: 'M4.4 1h3.2v3.4H11v3.2H7.6V11H4.4V7.6H1V4.4h3.4z' };
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', draw[kind] ?? draw.circle);
    path.style.cssText = kind === 'ring' ? `fill:none;stroke:var(--${name});stroke-width:2.4` : `fill:var(--${name})`;
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('viewBox', '0 0 12 12');
    svg.setAttribute('class', 'swatch');
    svg.setAttribute('aria-hidden', 'true');
    svg.append(path);
    return svg;
};

/** ECharts' symbol for lines and points, where it draws them itself. */
export const symbols = { square: 'rect', diamond: 'diamond', up: 'triangle', down: 'path://M0 0h10L5 9z', circle: 'circle', wide: 'path://M0 0h12v5H0z', ring: 'emptyCircle', cross: 'path://M4 0h4v4h4v4H8v4H4V8H0V4h4z' };

/** Whether black or white is read on it. */
export const ink = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map(Number).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? '#000' : '#fff';
};

/** @param {string[]} stops as #rrggbb */
export const between = (stops, share) => {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const index = Math.min(Math.floor(at), stops.length - 2);
    const part = (stop, channel) => parseInt(stops[stop].slice(1 + 2 * channel, 3 + 2 * channel), 16);
    return `rgb(${[0, 1, 2].map((channel) => Math.round(part(index, channel) + (part(index + 1, channel) - part(index, channel)) * (at - index))).join(',')})`;
};
