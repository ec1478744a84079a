// Puts the figures of the whole request, which the page's end has, into the admin bar, which was written before.
document.getElementById('larder-bar')?.content.querySelectorAll('[data-node]').forEach((line) => {
    const item = document.querySelector(`#wp-admin-bar-${line.dataset.node} > .ab-item`);
    if (item) item.textContent = line.textContent;
});
