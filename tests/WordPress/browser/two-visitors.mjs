// Two people on one site, each in a browser profile of his own, step by step as the lines of standard input say.
//
//   node two-visitors.mjs URL
//
// Each line is a step below with who does it first; its answer is one line of JSON.

import { chromium } from 'playwright-core';
import { createInterface } from 'node:readline';

const [url] = process.argv.slice(2);
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync',
        // There is no network but the site. A route of Playwright's would turn the browser's own cache off.
        '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
});
const pages = {};

/** A profile has its own cookies and its own cache. */
const page = async (who) => {
    if (!pages[who]) {
        const context = await browser.newContext({ reducedMotion: 'reduce' });
        context.setDefaultTimeout(30_000);
        pages[who] = await context.newPage();
    }
    return pages[who];
};

/** What somebody sees. */
const seen = async (of, response) => ({
    path: of.url().slice(url.length),
    cache: response?.headers()['cache-status'] ?? '',
    bar: await of.locator('#wpadminbar').count() > 0,
    title: await of.title(),
    text: await of.locator('body').innerText(),
    speculates: await of.locator('script[type=speculationrules]').count() > 0,
});

const steps = {
    async visit(who, path) {
        const of = await page(who);
        return seen(of, await of.goto(url + path, { waitUntil: 'load' }));
    },

    async back(who) {
        const of = await page(who);
        return seen(of, await of.goBack({ waitUntil: 'load' }));
    },

    async login(who, user, password) {
        const of = await page(who);
        await of.goto(`${url}/wp-login.php?redirect_to=${encodeURIComponent(`${url}/wp-admin/profile.php`)}`);
        // WordPress's script takes the focus a moment after the page is there, also from a field that is being filled.
        await of.waitForFunction(() => document.activeElement?.id === 'user_login');
        await of.fill('#user_login', user);
        await of.fill('#user_pass', password);
        await of.click('#wp-submit');
        await of.waitForURL('**/profile.php');
        return seen(of);
    },

    async logout(who) {
        const of = await page(who);
        await of.goto(`${url}/wp-admin/profile.php`);
        await of.goto(await of.locator('#wp-admin-bar-logout a').getAttribute('href'));
        await of.waitForURL('**/wp-login.php**');
        return seen(of);
    },

    async rename(who, name) {
        const of = await page(who);
        await of.goto(`${url}/wp-admin/options-general.php`);
        await of.fill('#blogname', name);
        await of.click('#submit');
        // Not by the address: WordPress's script takes the parameter out of it.
        await of.locator('#setting-error-settings_updated').waitFor();
        return seen(of);
    },

    async comment(who, path, text) {
        const of = await page(who);
        await of.goto(url + path);
        await of.fill('#comment', text);
        if (await of.locator('#author').count() > 0) {
            await of.fill('#author', who);
            await of.fill('#email', `${who}@example.org`);
        }
        await of.check('#wp-comment-cookies-consent');
        await of.click('#submit');
        await of.waitForURL((address) => !address.pathname.endsWith('wp-comments-post.php'));
        return seen(of);
    },

    /** Presses a link and does not let go: WordPress's speculation rules fetch its page then. */
    async press(who, path) {
        const of = await page(who);
        const link = of.locator(`a[href="${url}${path}"]`).first();
        await link.scrollIntoViewIfNeeded();
        await link.hover();
        await of.mouse.down();
        await of.waitForTimeout(1_500);
        const answer = of.waitForURL(`**${path}`);
        await of.mouse.up();
        await answer;
        return seen(of);
    },
};

try {
    for await (const line of createInterface({ input: process.stdin })) {
        const [step, ...words] = JSON.parse(line);
        console.log(JSON.stringify(await steps[step](...words)));
    }
} catch (failure) {
    console.error(failure.message);
    process.exitCode = 1;
} finally {
    await browser.close();
}
