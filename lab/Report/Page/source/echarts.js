// The parts of ECharts that the pictures need, and no others: that is two thirds of its size saved.

import { use } from 'echarts/core';
import { CustomChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, TooltipComponent } from 'echarts/components';
import { SVGRenderer } from 'echarts/renderers';

use([CustomChart, LineChart, ScatterChart, GridComponent, TooltipComponent, SVGRenderer]);

export { init } from 'echarts/core';
