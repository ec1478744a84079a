// Figures as people read them: three digits and the unit that fits.

const digits = (value) => {
    const text = value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
    return text;
};

/** @param {number} value microseconds */
export const time = (value, show = digits) => {
    if (!Number.isFinite(value)) return '–';
    if (value < 0.9995) return `${show(value * 1000)} ns`;
    if (value < 999.5) return `${show(value)} µs`;
    if (value < 999500) return `${show(value / 1000)} ms`;
    return `${show(value / 1e6)} s`;
};

/** @param {number} value bytes, in the powers of ten that disks and networks are sold by */
export const bytes = (value, show = digits) => {
    if (!Number.isFinite(value)) return '–';
    if (value < 999.5) return `${Math.round(value)} B`;
    if (value < 999500) return `${show(value / 1000)} kB`;
    return `${show(value / 1e6)} MB`;
};

/** @param {number} value operations a second */
export const rate = (value, show = digits) => {
    if (!Number.isFinite(value)) return '–';
    if (value < 999.5) return `${show(value)}/s`;
    if (value < 999500) return `${show(value / 1000)} k/s`;
    return `${show(value / 1e6)} M/s`;
};

export const moreIsBetter = (unit) => unit === 'ops/s';

export const quantity = (unit, value) => (unit === 'bytes' ? bytes(value) : moreIsBetter(unit) ? rate(value) : time(value));

/** On an axis: no zeros that say nothing. */
const short = (value) => String(Number(value.toPrecision(3)));
export const tick = (unit, value) => (unit === 'bytes' ? bytes(value, short) : unit === 'ratio' ? `${short(value)}×` : moreIsBetter(unit) ? rate(value, short) : time(value, short));

export const ratio = (value) => `${value < 0.009995 ? value.toFixed(5) : value < 0.09995 ? value.toFixed(4) : value < 0.9995 ? value.toFixed(3) : value < 9.995 ? value.toFixed(2) : value < 99.95 ? value.toFixed(1) : Math.round(value).toLocaleString('en')}×`;
