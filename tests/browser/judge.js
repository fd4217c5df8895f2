// What a person would meet on a page. Each function answers with plain values.

function unfold() {
  for (const d of document.querySelectorAll('details')) d.open = true;
}

// overflow tells how far the page can be scrolled sideways, and what sticks out of it.
function overflow() {
  const root = document.documentElement;
  const out = [];
  if (root.scrollWidth > root.clientWidth) {
    out.push(`the page is ${root.scrollWidth} wide, and ${root.clientWidth} are seen`);
  }
  for (const e of document.body.querySelectorAll('*')) {
    if (e.closest('svg') && e.tagName !== 'svg' || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect();
    if (box.right <= root.clientWidth + 1 || box.width === 0) continue;
    let within = e.parentElement;
    while (within && !['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(within).overflowX)) within = within.parentElement;
    if (!within || within === document.body || within === root) out.push(`<${e.tagName} class="${e.getAttribute('class') || ''}"> ends at ${box.right}: ${e.textContent.trim().slice(0, 60)}`);
  }
  return out.slice(0, 10);
}

// offScreen lists the cells of tables that are not seen without scrolling sideways.
function offScreen() {
  const wide = document.documentElement.clientWidth + 1;
  const out = [];
  for (const cell of document.querySelectorAll('th, td')) {
    if (!cell.checkVisibility()) continue;
    const box = cell.getBoundingClientRect();
    if (box.width > 1 && (box.right > wide || box.left < 0)) out.push(`${cell.tagName} from ${box.left} to ${box.right}: ${cell.textContent.trim().slice(0, 60)}`);
  }
  for (const box of document.querySelectorAll('.scroll')) {
    if (box.checkVisibility() && box.scrollWidth > box.clientWidth + 1) out.push(`${box.scrollWidth} in ${box.clientWidth}: ${box.textContent.trim().slice(0, 60)}`);
  }
  return out.slice(0, 10);
}

function rgba(text) {
  const n = text.match(/[\d.]+/g).map(Number);
  return {r: n[0], g: n[1], b: n[2], a: n.length > 3 ? n[3] : 1};
}

function over(front, back) {
  const mix = (f, b) => f * front.a + b * (1 - front.a);
  return {r: mix(front.r, back.r), g: mix(front.g, back.g), b: mix(front.b, back.b), a: 1};
}

// The contrast ratio of WCAG 2.2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
function luminance(c) {
  const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

function ratio(a, b) {
  const x = luminance(a), y = luminance(b);
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}

// behind is the colour that is seen behind a text: of the boxes that it stands in, or for
// one in a picture of whatever is drawn below it.
function behind(e, x, y) {
  const layers = [];
  if (e.closest('svg')) {
    const below = document.elementsFromPoint(x, y);
    for (const b of below.slice(below.indexOf(e) + 1)) {
      const style = getComputedStyle(b);
      const drawn = b instanceof SVGGeometryElement ? style.fill : style.backgroundColor;
      if (drawn && drawn.startsWith('rgb')) layers.push(rgba(drawn));
    }
  } else {
    for (let b = e; b; b = b.parentElement) layers.push(rgba(getComputedStyle(b).backgroundColor));
  }
  let colour = rgba(getComputedStyle(document.body).backgroundColor);
  for (const layer of layers.reverse()) colour = over(layer, colour);
  return colour;
}

// texts counts the texts that are seen, and tells those of which the contrast is less
// than it must be.
function texts(least) {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const faint = [];
  let seen = 0;
  for (let t = walker.nextNode(); t; t = walker.nextNode()) {
    const e = t.parentElement;
    if (!t.data.trim() || !e.checkVisibility({visibilityProperty: true}) || e.closest('title, desc, .vh, .defs')) continue;
    const range = document.createRange();
    range.selectNodeContents(t);
    const box = range.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    seen++;
    const style = getComputedStyle(e);
    const back = behind(e, box.x + box.width / 2, box.y + box.height / 2);
    const front = over(rgba(e.closest('svg') ? style.fill : style.color), back);
    const got = ratio(front, back);
    if (got < least) faint.push(`${got.toFixed(2)}: ${t.data.trim().slice(0, 60)} (${e.tagName} ${e.getAttribute('class') || ''})`);
  }
  return {seen, faint: [...new Set(faint)].slice(0, 20)};
}

// covered tells texts of pictures that cover one another.
function covered() {
  const out = [];
  for (const svg of document.querySelectorAll('.time svg')) {
    const boxes = [...svg.querySelectorAll('text')].filter((t) => t.checkVisibility()).map((t) => [t.textContent, t.getBoundingClientRect()]);
    boxes.forEach(([text, a], i) => {
      for (const [other, b] of boxes.slice(i + 1)) {
        if (a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 1 && b.top < a.bottom - 1) out.push(`${text} and ${other}`);
      }
    });
  }
  return out.slice(0, 10);
}

// focus tells how what has the focus shows it.
function focus() {
  const e = document.activeElement;
  const style = getComputedStyle(e);
  return {what: `${e.tagName} ${e.textContent.trim().slice(0, 30)}`, body: e === document.body, width: parseFloat(style.outlineWidth), style: style.outlineStyle};
}
