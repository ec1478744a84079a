// Pictures of a report for the documentation, and the proof that the page is as quiet as it says.
//
//   node screenshots.mjs REPORT.html DIRECTORY
//
// Writes report-{desktop,phone}-{light,dark}.png (its beginning), each of its pictures as figure-*-{light,dark}.png,
// and report.pdf. Fails if the page asks for anything but itself, says anything on the console, throws, or is wider
// than the window. CHROMIUM is the browser's path where that is not /usr/bin/chromium; ALL=1 also takes the whole
// page at each width.

import { chromium } from 'playwright-core';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [report, directory] = process.argv.slice(2);
if (!report || !directory) {
    console.error('Usage: node screenshots.mjs REPORT.html DIRECTORY');
    process.exit(2);
}
const address = pathToFileURL(resolve(report)).href;
mkdirSync(directory, { recursive: true });
const wrong = [];

const visit = async (width, height, scheme, work, options = {}) => {
    const profile = mkdtempSync(join(tmpdir(), 'larder-screenshots-'));
    const browser = await chromium.launchPersistentContext(profile, {
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'],
        viewport: { width, height },
        colorScheme: scheme,
        deviceScaleFactor: width < 600 ? 2 : 1.5,
        reducedMotion: 'reduce',
        ...options,
    });
    try {
        const page = browser.pages()[0] ?? (await browser.newPage());
        const where = `${width} px, ${scheme}${options.javaScriptEnabled === false ? ', no script' : ''}`;
        page.on('request', (request) => {
            if (request.url() !== address && !request.url().startsWith('data:')) wrong.push(`${where}: it asked for ${request.url()}`);
        });
        page.on('console', (message) => wrong.push(`${where}: it said on the console: ${message.text()}`));
        page.on('pageerror', (error) => wrong.push(`${where}: it threw: ${error.message}`));
        await page.goto(address, { waitUntil: 'load' });
        const across = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (across > 0) wrong.push(`${where}: it is ${across} px wider than the window`);
        await work(page);
    } finally {
        await browser.close();
        rmSync(profile, { recursive: true, force: true });
    }
};

/** Every picture is drawn when it comes into view. */
const drawAll = async (page) => {
    const figures = page.locator('figure[data-figure]');
    for (let index = 0; index < (await figures.count()); index++) {
        await figures.nth(index).scrollIntoViewIfNeeded();
        await page.waitForTimeout(40);
        if ((await figures.nth(index).locator('.picture svg').count()) === 0 && (await figures.nth(index).locator('.nothing').isHidden())) {
            await page.waitForTimeout(400);
            if ((await figures.nth(index).locator('.picture svg').count()) === 0) wrong.push(`picture ${index} was not drawn`);
        }
    }
};

for (const scheme of ['light', 'dark']) {
    for (const [name, width, height] of [['desktop', 1280, 900], ['phone', 390, 844]]) {
        await visit(width, height, scheme, async (page) => {
            await page.screenshot({ path: join(directory, `report-${name}-${scheme}.png`) });
            await drawAll(page);
            if (process.env.ALL) {
                await page.evaluate(() => scrollTo(0, 0));
                await page.screenshot({ path: join(directory, `all-${name}-${scheme}.png`), fullPage: true });
            }
            for (const figure of await page.locator('figure[data-figure]').all()) {
                const title = (await figure.getAttribute('data-figure')).replace(/[^a-z0-9]+/gi, '-').toLowerCase().slice(0, 40);
                if (name === 'desktop' || process.env.ALL) {
                    await figure.screenshot({ path: join(directory, `figure-${title}-${name === 'desktop' ? '' : 'phone-'}${scheme}.png`) });
                }
            }
            if (name === 'desktop' && scheme === 'dark') {
                // Light on paper, whatever the screen is.
                await page.pdf({ path: join(directory, 'report.pdf'), preferCSSPageSize: true, printBackground: true });
            }
            // Every choice must draw without a fault, by keyboard too.
            for (const fieldset of await page.locator('.controls fieldset').all()) {
                const radios = await fieldset.locator('input').all();
                await radios[0].focus();
                for (let press = 0; press < radios.length; press++) await page.keyboard.press('ArrowRight');
            }
            const across = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            if (across > 0) wrong.push(`${width} px, ${scheme}: with its pictures it is ${across} px wider than the window`);
        });
    }
}
await visit(1280, 900, 'light', async (page) => {
    if (process.env.ALL) await page.screenshot({ path: join(directory, 'no-script.png'), clip: { x: 0, y: 0, width: 1280, height: 5000 }, fullPage: true });
    if ((await page.locator('details.table').count()) !== (await page.locator('details.table[open]').count())) wrong.push('without scripts some tables are shut');
}, { javaScriptEnabled: false });

for (const line of new Set(wrong)) console.error(line);
if (wrong.length > 0) process.exit(1);
console.log(`Nothing was asked for and nothing went wrong. The pictures are in ${directory}.`);
