// Makes ../admin.js and ../admin.css, which are committed, from what is here and the library that package.json names.
// `npm ci --ignore-scripts && npm run build`. This folder is not in the plugin's zip.
//
// The first line of each says which sources it was made from and what follows it; AdminAssetsTest.php compares both, so
// that nobody forgets to build again and nobody edits what was built.

import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const text = (path) => readFileSync(join(here, path), 'utf8').replaceAll('\r\n', '\n');
const sha256 = (data) => createHash('sha256').update(data).digest('hex');

const sources = readdirSync(here).filter((name) => /\.(m?js|json|css)$/.test(name)).sort();
const hash = sha256(sources.map((path) => `${path}\n${text(path)}`).join('\n'));

const { version } = JSON.parse(text('node_modules/uplot/package.json'));
const licence = text('node_modules/uplot/LICENSE').trim();

// The licence asks that its notice goes wherever the code goes.
const banner = `/*!
 * The page of Larder, a cache for WordPress. GPL-2.0-or-later. Its sources are in Larder's repository, in
 * wordpress/assets/source. The chart is drawn by uPlot ${version}, which was not changed, only bundled:
 *
${licence.split('\n').map((line) => ` * ${line}`.trimEnd()).join('\n')}
 */
`;

for (const [entry, name] of [['main.js', 'admin.js'], ['page.css', 'admin.css']]) {
    const built = await build({
        absWorkingDir: here,
        entryPoints: [entry],
        bundle: true,
        minify: true,
        write: false,
        format: 'iife',
        target: ['es2020'],
        charset: 'utf8',
        legalComments: 'none',
    });
    const code = banner + built.outputFiles[0].text;
    writeFileSync(join(here, '..', name), `/* sources sha256 ${hash}, what follows sha256 ${sha256(code)}; made by build.mjs */\n${code}`);
    console.log(`${name}: ${Math.round(Buffer.byteLength(code) / 1000)} kB`);
}
