// The table of hours as numbers. It is the only place that has them: what is drawn is what is read.

/**
 * @param {HTMLTableElement} table
 * @returns {{series: {id: string, name: string, values: (number|null)[]}[], rows: {clock: number, label: string, title: string, cells: string[]}[]}}
 *   series by column that says it is one; cells: the same columns as they are written
 */
export const figures = (table) => {
    const columns = [...table.tHead.rows[0].cells].flatMap((cell, index) => (cell.dataset.series ? [{ index, id: cell.dataset.series, name: cell.textContent }] : []));
    const lines = [...table.tBodies[0].rows];
    const number = (cell) => (cell.dataset.value === '' ? null : Number(cell.dataset.value));
    return {
        series: columns.map(({ index, id, name }) => ({ id, name, values: lines.map((line) => number(line.cells[index])) })),
        rows: lines.map((line) => ({
            clock: Number(line.dataset.clock),
            label: line.dataset.label,
            title: line.cells[0].textContent,
            cells: columns.map(({ index }) => line.cells[index].textContent),
        })),
    };
};
