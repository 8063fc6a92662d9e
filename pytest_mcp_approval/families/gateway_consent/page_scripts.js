// Looks at a page from inside, for rendered_page.py: each part is one function, given to Playwright. Nothing that
// the page could notice is changed.

// ---- visible text
() => {
  // Text that can be seen: in a box that is not empty, on the page and not beside it, large enough
  // to read, and not in its background's colour. If text is cut off at an edge, the words before
  // the edge.
  const parts = [];
  const stuck = value => value === 'hidden' || value === 'clip';
  const scrolls = value => value === 'auto' || value === 'scroll';
  // A pixel or two is rounding.
  const beyond = (inner, edge) =>
    (edge.down && (inner.bottom > edge.bottom + 2 || inner.top < edge.top - 2))
    || (edge.across && (inner.right > edge.right + 2 || inner.left < edge.left - 2));
  // The boxes that cut a text off, out of reach of scrolling.
  const cutting = (from, place) => {
    const found = [];
    for (let one = from; one && one !== document.body; one = one.parentElement) {
      const style = getComputedStyle(one);
      const {top, right, bottom, left} = one.getBoundingClientRect();
      const inline = style.display === 'inline';
      const down = stuck(style.overflowY) && !inline, across = stuck(style.overflowX) && !inline;
      const edge = {top, right, bottom, left, down, across};
      if (beyond(place, edge)) found.push(edge);
      if (scrolls(style.overflowY) || scrolls(style.overflowX)) break;
    }
    return found;
  };
  // Red, green, blue, opacity; null for a colour in another notation.
  const colour = text => {
    const found = /^rgba?\(([^)]*)\)$/.exec(text);
    if (!found) return null;
    const [red, green, blue, alpha = 1] = found[1].split(/[ ,/]+/).map(Number);
    return {parts: [red, green, blue], alpha};
  };
  const over = (top, below) =>
    top.parts.map((part, index) => part * top.alpha + below[index] * (1 - top.alpha));
  const brightness = parts => {
    const [red, green, blue] = parts.map(part => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  // Whether a text has the colour of what is behind it; false if that cannot be told.
  const faded = box => {
    const layers = [];
    let opacity = 1;
    for (let one = box; one; one = one.parentElement) {
      const style = getComputedStyle(one);
      opacity *= parseFloat(style.opacity);
      if (style.backgroundImage !== 'none') return false;
      const layer = colour(style.backgroundColor);
      if (!layer) return false;
      if (layer.alpha) layers.push(layer);
      if (layer.alpha === 1) break;
    }
    const behind = layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
    const own = colour(getComputedStyle(box).webkitTextFillColor);
    if (!own) return false;
    const front = over({parts: own.parts, alpha: own.alpha * opacity}, behind);
    const [high, low] = [brightness(front), brightness(behind)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05) < 1.2;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const box = node.parentElement;
    if (!node.data.trim() || box.matches('script, style, noscript, template')) continue;
    if (!box.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const style = getComputedStyle(box);
    if (parseFloat(style.fontSize) < 6 || faded(box)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const place = range.getBoundingClientRect();
    if (place.width < 1 || place.height < 1) continue;
    if (place.right + scrollX <= 0 || place.bottom + scrollY <= 0) continue;
    const edges = cutting(box, place);
    if (!edges.length) {
      parts.push(node.data);
      continue;
    }
    for (const word of node.data.matchAll(/\S+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const spot = range.getBoundingClientRect();
      if (edges.every(edge => !beyond(spot, edge))) parts.push(word[0]);
    }
  }
  return parts.join(' ');
}

// ---- backwards
() => {
  // Words of plain letters whose letters do not run from left to right.
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.data.length > 2000) continue;
    for (const word of node.data.matchAll(/[A-Za-z]{2,}/g)) {
      let before = null;
      for (let at = word.index; at < word.index + word[0].length; at++) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + 1);
        const place = range.getBoundingClientRect();
        if (!place.width) continue;
        if (before && Math.abs(before.top - place.top) < 2 && place.left < before.left) {
          found.push(word[0]);
          break;
        }
        before = place;
      }
    }
  }
  return found.slice(0, 5);
}

// ---- injected
([mark, flag]) => {
  // Which of our own marks became elements, and whether a script of ours ran.
  const marked = [...document.querySelectorAll(`[${mark}]`)];
  const found = marked.map(one => `an element ${one.tagName}`);
  if (window[flag] !== undefined) found.push('a script that ran');
  return found;
}

// ---- too wide
() => {
  // By how many pixels the page is wider than the window.
  const page = document.scrollingElement;
  return Math.max(0, page.scrollWidth - page.clientWidth);
}
