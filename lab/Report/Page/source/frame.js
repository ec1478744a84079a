// What the pictures have in common: the ground they are drawn on, the text beside it, what is shown on hover.

/** In pixels, as it will be drawn. */
export const measure = (() => {
    let context;
    return (text, font) => {
        context ??= document.createElement('canvas').getContext('2d');
        context.font = font;
        return context.measureText(text).width;
    };
})();

export const line = (x1, y1, x2, y2, stroke, lineWidth = 1, lineDash = null) => ({ type: 'line', shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth, lineDash }, silent: true });

export const text = (content, x, y, fill, font, align = 'left', more = {}) => ({ type: 'text', style: { text: content, x, y, fill, font, align, verticalAlign: 'middle', ...more }, silent: true });

/** Cuts what does not fit, and says so by an ellipsis. */
export const fit = (content, width, font) => {
    if (measure(content, font) <= width) return content;
    let length = content.length;
    while (length > 1 && measure(`${content.slice(0, length)}…`, font) > width) length--;
    return `${content.slice(0, length)}…`;
};

/** On as many lines as it takes, broken between words and between the parts of a name. */
export const wrap = (content, width, font) => {
    const lines = [];
    for (const word of content.split(/(?<=[ :/])/)) {
        const longer = lines.length ? lines[lines.length - 1] + word : '';
        if (longer && measure(longer, font) <= width) lines[lines.length - 1] = longer;
        else lines.push(fit(word, width, font));
    }
    return lines;
};

/** The lines of a scale and its figures, below and (of a tall picture, where nothing else stands there) above. */
export const ground = (axis, show, theme, font, both = true) => ({
    type: 'custom',
    silent: true,
    data: [[axis.min, 0]],
    renderItem: (params, api) => {
        const { x, y, width, height } = params.coordSys;
        const children = [];
        for (const at of axis.minor) {
            const [px] = api.coord([at, 0]);
            children.push(line(px, y, px, y + height, theme.faint));
        }
        let [above, below] = [-Infinity, -Infinity];
        for (const { at, value } of axis.ticks) {
            const [px] = api.coord([at, 0]);
            const content = show(value);
            const half = measure(content, font) / 2;
            children.push(line(px, y, px, y + height, theme.line));
            if (px - half < below + 8) continue;
            below = px + half;
            children.push(text(content, px, y + height + 12, theme.soft, font, 'center'));
            if (both && height > 420 && px - half >= above) {
                above = px + half;
                children.push(text(content, px, y - 11, theme.soft, font, 'center'));
            }
        }
        return { type: 'group', children };
    },
    z: 0,
});

/** Axes that only place things. */
export const hidden = (min, max, inverse = false) => ({ type: 'value', min, max, inverse, show: false, axisPointer: { show: false } });

/** Text only: a name in a report may hold anything. */
export const card = (title, facts) => {
    const box = document.createElement('div');
    box.className = 'tip';
    const head = document.createElement('b');
    head.textContent = title;
    const list = document.createElement('dl');
    for (const [name, value] of facts) {
        const term = document.createElement('dt');
        term.textContent = name;
        const data = document.createElement('dd');
        data.textContent = value;
        list.append(term, data);
    }
    box.append(head, list);
    return box;
};

export const tooltip = (theme, formatter) => ({
    trigger: 'item',
    confine: true,
    transitionDuration: 0,
    backgroundColor: theme.card,
    borderColor: theme.soft,
    padding: 0,
    textStyle: { color: theme.text, fontFamily: theme.font },
    extraCssText: 'box-shadow:0 4px 16px rgba(0,0,0,.25);border-radius:8px',
    formatter,
});

export const base = (theme) => ({ animation: false, textStyle: { fontFamily: theme.font }, backgroundColor: 'transparent' });
