// What the page holds of the report, unpacked.

/** @typedef {{scenario: string, subject: string, engine: string, connection: string, serializer: string, compressor: string, payload: string, operation: string, concurrency: number, unit: string, n: number, median: number, low: number, high: number, curve: number[], share: number[]}} Row */

export const read = () => {
    const data = JSON.parse(document.getElementById('data').textContent);
    const rows = data.rows.map((values) => Object.fromEntries(data.columns.map((name, index) => [name, values[index]])));
    // Nothing takes no time at all; but a clock may say so, and a logarithm has no place for it.
    const positive = (value) => Math.max(value, 1e-6);
    for (const row of rows) {
        for (const name of ['center', 'median', 'low', 'high']) row[name] = positive(row[name]);
        row.curve = row.curve.map(positive);
    }
    return { rows, figures: data.figures };
};
