// Looks at a page from inside, for page.py: each part is one function, given to Playwright. Nothing that
// the page could notice is changed.

// ---- shown
(place) => {
  const field = ['input', 'textarea'].includes(place.localName);
  const bounded = (text) => text.slice(0, 4_000_000);
  const content = bounded(field ? place.value : place.textContent);
  const range = document.createRange();
  range.selectNodeContents(place);
  const extent = range.getBoundingClientRect();
  let cut = false;
  for (let one = place; one instanceof HTMLElement; one = one.parentElement) {
    const style = getComputedStyle(one);
    const stuck = (value) => value === 'hidden' || value === 'clip';
    const box = one.getBoundingClientRect();
    // A pixel or two is rounding; what an ancestor of this one scrolls is inside its own box.
    if (stuck(style.overflowY) && one.scrollHeight > one.clientHeight + 2 && one.clientHeight > 0) {
      if (one === place || extent.bottom > box.bottom + 2 || extent.top < box.top - 2) cut = true;
    }
    if (stuck(style.overflowX) && one.scrollWidth > one.clientWidth + 2 && one.clientWidth > 0) {
      if (one === place || extent.right > box.right + 2 || extent.left < box.left - 2) cut = true;
    }
    const scrolls = (value) => value === 'auto' || value === 'scroll';
    if (scrolls(style.overflowY) || scrolls(style.overflowX)) break;
  }
  const box = place.getBoundingClientRect();
  const style = getComputedStyle(place);
  // What is around it may hide it too: an invisible ancestor, a place beside the page.
  const seen = place.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && box.right + scrollX > 0;
  const clear = style.color === 'rgba(0, 0, 0, 0)';
  const faint = !seen || clear || parseFloat(style.fontSize) < 4 || box.width < 4 || box.height < 4;
  return { content, rendered: field ? content : bounded(place.innerText), cut, too_small: faint };
}

// ---- watched
(place) => {
  const watched = { place, touched: false };
  const touch = () => { watched.touched = true; };
  new MutationObserver(touch).observe(place, { subtree: true, childList: true, characterData: true, attributes: true });
  return watched;
}

// ---- there
() => {
  const found = [];
  const name = (one) => {
    const labels = [...(one.labels ?? [])].map((label) => label.innerText);
    const said = [one.getAttribute('aria-label'), ...labels, one.innerText, one.getAttribute('name'), one.id];
    return (said.find((text) => text && text.trim()) ?? '').trim().replace(/\s+/g, ' ').slice(0, 40);
  };
  const asks = 'button, a[href], input:not([type=hidden]), select, textarea, [role=button], [contenteditable=true]';
  const says = 'h1, h2, output, dialog[open], [role=status], [role=alert], [role=dialog], pre[id]';
  for (const one of document.querySelectorAll(`${asks}, ${says}`)) {
    if (!one.checkVisibility()) continue;
    const kind = one.getAttribute('role') ?? (one.localName === 'input' ? `input ${one.type}` : one.localName);
    found.push(`${kind}${one.id ? `#${one.id}` : ''} "${name(one)}"`);
    if (found.length === 12) break;
  }
  return found.length ? found : [document.title || (document.body?.innerText ?? '').trim().slice(0, 40)].filter(Boolean);
}
