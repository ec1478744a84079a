// What the owner of a site does in a browser, step by step as the lines of standard input say.
//
//   node new-user.mjs URL ADMIN PROFILE ZIP [PICTURES]
//
// ADMIN is /wp-admin/, or that of a network, /wp-admin/network/. Each line is a step below; its answer is one line of JSON. PROFILE is an empty directory for the browser. With PICTURES
// each page on the way is photographed into that directory. "wrong" of the last answer has what a script threw, what of
// the plugin's could not be loaded, and where a page of its own is wider than the window.

import { chromium } from 'playwright-core';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const [url, admin, profile, zip, pictures] = process.argv.slice(2);
const wide = { width: 1280, height: 900 };
const narrow = { width: 390, height: 844 };
const network = admin.endsWith('/network/');
const wrong = [];

const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
    viewport: wide,
    reducedMotion: 'reduce',
});
context.setDefaultTimeout(30_000);
// There is no network but the site: pictures of users, for example, are others'.
await context.route((address) => address.origin !== url, (route) => route.abort());
const page = context.pages()[0];
page.on('pageerror', (error) => wrong.push(`${page.url()} threw ${error.message}`));
page.on('response', (response) => {
    if (response.status() >= 400 && response.url().includes('larder')) wrong.push(`${response.url()} has the status ${response.status()}`);
});

const visit = (path) => page.goto(url + path, { waitUntil: 'load' });

/** A page as it is seen on a desk and on a telephone. */
const photograph = async (name) => {
    for (const [kind, size] of [['desktop', wide], ['tablet', { width: 500, height: 900 }], ['phone', narrow]]) {
        await page.setViewportSize(size);
        const across = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (across > 0) wrong.push(`${name}, ${kind}: ${across} px wider than the window`);
        if (pictures) {
            await page.screenshot({ path: join(pictures, `wordpress-${name}-${kind}.png`) });
        }
    }
    await page.setViewportSize(wide);
};

/** What the notices of a page say, without the button that takes them away. */
const notices = async () => {
    const found = [];
    for (const text of await page.locator('.notice:visible > p').allInnerTexts()) found.push(text.trim());
    return found;
};

/** Each tile of the plugin's page, by what it is called. */
const tiles = async () => {
    const found = {};
    for (const tile of await page.locator('.larder-tiles > div').all()) {
        found[await tile.locator('dt').innerText()] = await tile.locator('strong').innerText();
    }
    return found;
};

/** The plugin's row in the list of the plugins. */
const row = () => page.locator('tr[data-plugin="larder/larder.php"]');

const steps = {
    async login(user, password) {
        // Not to the dashboard, which wants news from elsewhere.
        await visit('/wp-login.php?redirect_to=' + encodeURIComponent(url + admin + 'plugins.php'));
        // WordPress's script takes the focus a moment after the page is there, also from a field that is being filled.
        await page.waitForFunction(() => document.activeElement?.id === 'user_login');
        await page.fill('#user_login', user);
        await page.fill('#user_pass', password);
        await page.click('#wp-submit');
        await page.waitForURL(url + admin + 'plugins.php');
        return await page.title();
    },

    async install() {
        await visit(admin + 'plugins.php');
        await page.locator('.page-title-action').first().click();
        await page.locator('.upload-view-toggle').click();
        await page.setInputFiles('#pluginzip', zip);
        await page.click('#install-plugin-submit');
        const activate = page.locator('a.button-primary[href*="action=activate"]');
        await activate.waitFor();
        await photograph('installed');
        await activate.click();
        await page.waitForURL('**/plugins.php**');
        await row().waitFor();
        const said = await notices();
        await photograph('activated');
        await visit(admin + 'plugins.php');
        return { said, again: await notices(), active: (await row().getAttribute('class')).split(' ') };
    },

    async look() {
        await visit(admin + 'plugins.php');
        await row().getByRole('link', { name: 'Figures and flush' }).click();
        const menu = page.locator(network ? '#menu-settings .current' : '#menu-tools .current');
        await menu.getByRole('link', { name: 'Larder' }).waitFor();
        await page.locator('.wrap.larder').waitFor();
        await page.locator('.larder-plot svg').first().waitFor();
        await photograph('larder');
        return {
            tiles: await tiles(),
            findings: await page.locator('.larder-findings li').evaluateAll((all) => all.map((item) => `${item.className}: ${item.querySelector('strong').innerText}`)),
            entries: await page.locator('#larder-groups + p').innerText(),
            bar: (await page.locator('#wp-admin-bar-larder > a').innerText()).trim(),
        };
    },

    async flush() {
        await page.getByRole('button', { name: network ? 'Flush all sites' : 'Flush this site' }).click();
        await page.waitForURL('**larder-notice=**');
        await photograph('flushed');
        return { said: await notices(), entries: await page.locator('#larder-groups + p').innerText() };
    },

    async health() {
        await visit('/wp-admin/site-health.php');
        // The tests that are requests of their own come one after the other.
        await page.waitForFunction(() => !document.querySelector('.site-health-progress-wrapper.loading'), undefined, { timeout: 90_000 });
        await page.locator('.site-health-view-passed').click();
        await page.evaluate(() => { document.activeElement.blur(); scrollTo(0, 0); });
        const found = {};
        for (const kind of ['critical', 'recommended', 'good']) {
            found[kind] = await page.locator(`#health-check-issues-${kind} .health-check-accordion-heading .title`).allInnerTexts();
        }
        await photograph('health');
        return found;
    },

    async deactivate() {
        await visit(admin + 'plugins.php');
        await row().locator('a[href*="action=deactivate"]').click();
        await row().locator('a.delete').waitFor();
        await photograph('deactivated');
        return await notices();
    },

    async delete() {
        page.once('dialog', (dialog) => dialog.accept());
        await row().locator('a.delete').click();
        // The row fades away, and one that says so takes its place.
        await page.locator('tr[data-plugin="larder/larder.php"]:not(.deleted)').waitFor({ state: 'detached' });
        await photograph('deleted');
        return await page.locator('tr.plugin-deleted-tr').innerText();
    },
};

try {
    for await (const line of createInterface({ input: process.stdin })) {
        const [step, ...words] = JSON.parse(line);
        console.log(JSON.stringify({ answer: await steps[step](...words), wrong }));
    }
} catch (failure) {
    if (pictures) await page.screenshot({ path: join(pictures, 'failed.png') });
    console.error(`${page.url()}: ${failure.message}`);
    process.exitCode = 1;
} finally {
    await context.close();
}
