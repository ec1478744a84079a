// Makes bundle.js, which is committed, from source/ and the libraries that package.json names. `node build.mjs`.
//
// Its first line says which sources it was made from and what follows it; HtmlTest.php compares both, so that nobody
// forgets to build again and nobody edits what was built.

import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const text = (path) => readFileSync(join(here, path), 'utf8').replaceAll('\r\n', '\n');
const sha256 = (data) => createHash('sha256').update(data).digest('hex');

const sources = ['build.mjs', 'package-lock.json', 'package.json', ...readdirSync(join(here, 'source')).map((name) => `source/${name}`)].sort();
const hash = sha256(sources.map((path) => `${path}\n${text(path)}`).join('\n'));

const version = (name) => JSON.parse(text(`node_modules/${name}/package.json`)).version;
const libraries = [
    { name: 'Apache ECharts', version: version('echarts'), licence: 'Apache-2.0', texts: ['node_modules/echarts/NOTICE', 'node_modules/echarts/LICENSE', 'node_modules/echarts/licenses/LICENSE-d3'] },
    { name: 'ZRender', version: version('zrender'), licence: 'BSD-3-Clause', texts: ['node_modules/zrender/LICENSE'] },
    { name: 'tslib', version: version('tslib'), licence: '0BSD', texts: ['node_modules/tslib/LICENSE.txt'] },
];

const built = await build({
    absWorkingDir: here,
    entryPoints: ['source/main.js'],
    bundle: true,
    minify: true,
    write: false,
    format: 'iife',
    target: ['es2020'],
    charset: 'utf8',
    legalComments: 'inline',
    // __DEV__ is what ECharts and ZRender ask before they explain mistakes at length.
    define: { 'process.env.NODE_ENV': '"production"', __DEV__: 'false' },
});

// The licences ask that their notices go wherever the code goes: into each report too, not only beside the bundle.
const banner = `/*!
 * The pictures of Larder's laboratory. MIT. They are drawn by:
 *
 * ${libraries.map((library) => `${library.name} ${library.version} (${library.licence})`).join(', ')}
 *
 * Apache ECharts, Copyright 2017-2026 The Apache Software Foundation. This product includes software developed at
 * The Apache Software Foundation (https://www.apache.org/). Licensed under the Apache License, Version 2.0; you may
 * not use it except in compliance with the License, a copy of which is at https://www.apache.org/licenses/LICENSE-2.0
 * Unless required by applicable law or agreed to in writing, it is distributed on an "AS IS" BASIS, WITHOUT WARRANTIES
 * OR CONDITIONS OF ANY KIND, either express or implied. It was not changed, only bundled.
 *
 * ZRender, and d3 inside Apache ECharts:
${[...new Set([text('node_modules/zrender/LICENSE'), text('node_modules/echarts/licenses/LICENSE-d3')])].join('\n').trim().split('\n').map((line) => ` * ${line}`.trimEnd()).join('\n')}
 */
`;

// Inside HTML a script ends at the first "</script", wherever that stands, and "<!--" changes how it is read.
const code = (banner + built.outputFiles[0].text).replaceAll(/<\/(script)/gi, '<\\/$1').replaceAll('<!--', '<\\!--');

writeFileSync(join(here, 'bundle.js'), `/* sources sha256 ${hash}, what follows sha256 ${sha256(code)}; made by build.mjs */\n${code}`);
writeFileSync(
    join(here, 'NOTICE'),
    `bundle.js, and with it every HTML report, contains the following libraries.\n\n${libraries
        .map((library) => `${'='.repeat(100)}\n${library.name} ${library.version} (${library.licence})\n${'='.repeat(100)}\n\n${library.texts.map((path) => text(path).trim()).join('\n\n')}\n`)
        .join('\n')}`,
);
console.log(`bundle.js: ${Math.round(Buffer.byteLength(code) / 1000)} kB`);
