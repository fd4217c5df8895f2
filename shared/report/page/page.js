// Finds words in what the page lists, and shows one cluster. Without it the page shows everything.
(() => {
  const bar = document.getElementById('find');
  const words = document.getElementById('find-words');
  const cluster = document.getElementById('find-cluster');
  const found = document.getElementById('find-found');
  const listed = '.finding, .notice, .part tbody tr';
  const items = [...document.querySelectorAll(listed)].filter((e) => !e.parentElement.closest('.finding, .notice'));
  if (!bar || items.length === 0) return;
  const sections = [...document.querySelectorAll('.cluster')];
  const text = new Map(items.map((e) => {
    const of = e.closest('.cluster');
    return [e, (e.textContent + ' ' + (of ? of.querySelector('h2').textContent : '')).toLowerCase()];
  }));
  const folds = [...document.querySelectorAll('.part')];
  const before = new Map(folds.map((d) => [d, d.open]));
  const show = () => {
    const asked = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const only = cluster ? cluster.value : '';
    let n = 0;
    for (const e of items) {
      const of = e.closest('.cluster');
      const here = !only || (of ? of.getAttribute('aria-labelledby') === only : e.dataset.cluster === only);
      e.hidden = !here || !asked.every((w) => text.get(e).includes(w));
      if (!e.hidden) n++;
    }
    const some = (e) => items.some((i) => !i.hidden && e.contains(i));
    for (const d of folds) d.open = asked.length > 0 ? some(d) : before.get(d);
    for (const s of sections) s.hidden = (only && s.getAttribute('aria-labelledby') !== only) || (asked.length > 0 && !some(s));
    for (const row of document.querySelectorAll('.overview tbody tr')) row.hidden = sections.some((s) => s.hidden && row.querySelector(`[href="#${s.getAttribute('aria-labelledby')}"]`));
    found.textContent = asked.length > 0 || only ? `${n} of ${items.length} entries` : '';
  };
  words.addEventListener('input', show);
  if (cluster) cluster.addEventListener('change', show);
  bar.hidden = false;
})();
