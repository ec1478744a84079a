// The admin page: makes a chart out of the table of hours, which stays below it for whoever would rather read.

import { draw } from './chart.js';
import { figures } from './table.js';

const frame = document.querySelector('.larder-chart');
const hours = document.querySelector('.larder-hours');
if (frame && hours) {
    frame.hidden = false;
    hours.open = false;
    draw(frame, figures(hours.querySelector('table')));
}
