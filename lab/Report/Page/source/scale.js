// A logarithmic axis. ECharts' own has ticks at powers of ten only, which is none at all where everything lies
// within one; so the pictures are drawn over log10 of the figures, with ticks chosen here.

const log = Math.log10;

/**
 * @param {number[]} values positive
 * @param {number} width pixels there are for it
 * @returns {{min: number, max: number, ticks: {at: number, value: number}[], minor: number[]}} min, max and at in log10
 */
export const scale = (values, width, room = 62) => {
    const finite = values.filter((value) => value > 0 && Number.isFinite(value));
    let low = finite.length ? Math.min(...finite) : 1;
    let high = finite.length ? Math.max(...finite) : 10;
    if (high / low < 1.02) [low, high] = [low / 1.02, high * 1.02];
    const span = log(high / low);
    const most = Math.max(2, Math.floor(width / room));

    if (span < 0.7) return even(low / 10 ** (span * 0.06), high * 10 ** (span * 0.06), most);

    const min = Math.floor(log(low) * 20) / 20 - 0.05;
    const max = Math.ceil(log(high) * 20) / 20 + 0.05;
    const decades = max - min;
    const within = (at) => at >= min - 1e-9 && at <= max + 1e-9;
    const list = (steps, every) => {
        const found = [];
        for (let power = Math.floor(min); power <= Math.ceil(max); power++) {
            if (power % every !== 0) continue;
            for (const step of steps) if (within(power + log(step))) found.push({ at: power + log(step), value: step * 10 ** power });
        }
        return found;
    };
    for (const [steps, every] of [[[1, 2, 3, 5, 7], 1], [[1, 2, 5], 1], [[1, 3], 1], [[1], 1], [[1], 2], [[1], 3]]) {
        const ticks = list(steps, every);
        if (ticks.length <= most && ticks.length > 1) {
            const minor = decades < 4 ? list([2, 3, 4, 5, 6, 7, 8, 9], 1) : list([1], 1);
            return { min, max, ticks, minor: minor.map(({ at }) => at).filter((at) => !ticks.some((one) => Math.abs(one.at - at) < 1e-9)) };
        }
    }
    return { min, max, ticks: list([1], 1).slice(0, most), minor: [] };
};

/** Less than a power of ten: even steps of the figure itself. */
const even = (low, high, most) => {
    const rough = (high - low) / most;
    const power = 10 ** Math.floor(log(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    const ticks = [];
    for (let index = Math.ceil(low / step); index * step <= high; index++) {
        const value = Number((index * step).toPrecision(12));
        if (value > 0) ticks.push({ at: log(value), value });
    }
    return { min: log(low), max: log(high), ticks, minor: [] };
};
