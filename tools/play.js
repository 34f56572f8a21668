// Plays the recorded panels and draws the recorded charts of a page. No library, no network.
// tools/places.py writes the data and tools/drawing.py says what a mark is.
'use strict';

const PAPER = '#ffffff';
const ANCHORS = ['start', 'middle', 'end'];
const CAPS = ['butt', 'round', 'square'];
const INCH = 1000;  // units
const PACE = 900;   // milliseconds between two places of a panel that plays by itself

const escaped = text => String(text).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);

/** Unpack the JSON of a figure: gzip in base64, because a page may not fetch from file://. */
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), c => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).json();
}

/** Draws pictures that share styles and marks. Each style is made into attributes once. */
class Pencil {
  constructor(name, {styles, marks}) {
    Object.assign(this, {name, marks, defs: new Map()});
    this.styles = styles.map(style => this.attributes(...style));
  }

  attributes(fill, line, width, dashes, hatch, opacity, cap, clip) {
    const colour = (name, property, value) =>
      !value ? '' : value === PAPER ? `${property}:var(--play-paper);` : `${name}:${value};`;
    let text = `style="${colour('--play-fill', 'fill', fill)}${colour('--play-line', 'stroke', line)}"`;
    if (line) text += ` stroke-width="${width}" stroke-linecap="${CAPS[cap]}"`;
    if (dashes) text += ` stroke-dasharray="${dashes}"`;
    if (opacity < 1) text += ` opacity="${opacity}"`;
    if (clip) text += ` clip-path="url(#${this.define(clip, this.clip)})"`;
    const over = hatch && `style="fill:url(#${this.define(hatch, this.hatch)})"`;
    return {text, over, ink: fill ? `style="--play-fill:${fill}"` : ''};
  }

  define(what, make) {
    if (!this.defs.has(what)) {
      const id = `${this.name}-d${this.defs.size}`;
      this.defs.set(what, {id, svg: make(id, what)});
    }
    return this.defs.get(what).id;
  }

  clip(id, words) {
    const [x, y, width, height] = words.split(' ');
    return `<clipPath id="${id}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/></clipPath>`;
  }

  hatch(id, words) {
    const [lines, colour, width] = words.split(' ');
    const step = INCH / (6 * lines.length) / Math.SQRT2;
    return `<pattern id="${id}" patternUnits="userSpaceOnUse" width="${step}" height="${step}"
      patternTransform="rotate(45)"><path d="M0 0V${step}" style="--play-line:${colour}"
      stroke-width="${2 * width}"/></pattern>`;
  }

  mark([style, ...rest]) {
    const {text, over, ink} = this.styles[style];
    if (rest.length === 1) {
      const path = `<path d="${rest[0]}" `;
      return `${path}${text}/>${over ? `${path}${over}/>` : ''}`;
    }
    const [x, y, words, size, bold, anchor, angle] = rest;
    const turn = angle ? ` transform="rotate(${-angle} ${x} ${y})"` : '';
    const clip = /clip-path="[^"]*"/.exec(text);
    return `<text x="${x}" y="${y}" font-size="${size}" text-anchor="${ANCHORS[anchor]}" ${ink}` +
      `${bold ? ' font-weight="bold"' : ''} ${clip || ''}${turn}>${escaped(words)}</text>`;
  }

  /** The words of a screen reader are the picture's title, which is its first bold words, and a label. */
  svg([height, picture], label) {
    const title = picture.map(n => this.marks[n]).find(mark => mark.length > 2 && mark[5]);
    if (title) label = `${title[3].replace(/\.$/, '')}. ${label}`;
    const marks = picture.map(n => this.mark(this.marks[n])).join('');
    const defs = [...this.defs.values()].map(each => each.svg).join('');
    return `<svg viewBox="0 0 7200 ${height}" role="img" aria-label="${escaped(label)}">` +
      `<defs>${defs}</defs>${marks}</svg>`;
  }
}

/** Makes a control with its label. `moved` is called with the index of its value. */
class Control {
  constructor(id, {label, help, shown, start, type}, moved) {
    const tag = type === 'select' ? 'select' : 'input';
    this.box = document.createElement('div');
    this.box.className = 'play-control';
    this.box.innerHTML = `<label for="${id}">${escaped(label)}</label>` +
      `<${tag} id="${id}" title="${escaped(help)}">` +
      (tag === 'select' ? '</select>' : `<output for="${id}"></output>`);
    this.input = this.box.querySelector(tag);
    this.output = this.box.querySelector('output');
    this.options(shown);
    this.index = start;
    this.input.addEventListener('input', () => { this.index = this.index; moved(this); });
  }

  options(shown) {
    this.shown = shown;
    if (this.output) Object.assign(this.input, {type: 'range', min: 0, max: shown.length - 1, step: 1});
    else this.input.replaceChildren(...shown.map((text, n) => new Option(text, n)));
  }

  get index() { return Number(this.input.value); }

  set index(n) {
    this.input.value = n;
    if (!this.output) return;
    this.output.textContent = this.shown[n];
    this.input.setAttribute('aria-valuetext', this.shown[n]);
  }
}

/** A recorded panel: a place for each combination of its controls' values. */
class Panel {
  constructor(figure, data) {
    Object.assign(this, {figure, data});
    this.pencil = new Pencil(figure.dataset.play, data);
    this.controls = data.controls.map(
      (each, n) => new Control(`${figure.dataset.play}-${n}`, each, () => this.draw()));
    const [bar, fixed] = [part('div', 'play-bar'), part('p', 'play-fixed', data.fixed)];
    [this.picture, this.line] = [part('div', 'play-picture'), part('p', 'play-line')];
    this.table = part('div', 'play-table');
    this.line.setAttribute('role', 'status');
    bar.append(...this.controls.map(each => each.box));
    figure.replaceChildren(bar, fixed, this.picture, this.line, this.table);
    if ('moves' in figure.dataset) new Mover(this, bar);
    this.draw();
  }

  get place() {
    return this.controls.reduce((n, each, at) => n * this.data.controls[at].shown.length + each.index, 0);
  }

  draw() {
    const [picture, sentence, table] = this.data.places[this.place];
    this.picture.innerHTML = picture ? this.pencil.svg(picture, sentence) : '';
    this.picture.hidden = !this.picture.innerHTML;
    this.line.textContent = sentence;
    this.table.innerHTML = table.map(n => this.data.chunks[n]).join('');
  }
}

/** A chart that doesn't move. */
class Still {
  constructor(figure, data) {
    const box = part('div', 'play-picture');
    box.innerHTML = new Pencil(figure.dataset.play, data).svg(data.places[0][0], figure.dataset.label);
    figure.replaceChildren(box);
  }
}

/** A button that plays a panel from its first place to its last, once by itself when in sight. */
class Mover {
  constructor(panel, bar) {
    Object.assign(this, {panel, timer: 0, button: part('button', 'play-button')});
    this.button.type = 'button';
    this.button.addEventListener('click', () => this.timer ? this.stop() : this.go());
    panel.controls[0].input.addEventListener('pointerdown', () => this.stop());
    panel.controls[0].input.addEventListener('keydown', () => this.stop());
    bar.append(this.button);
    this.stop();
    const control = panel.controls[0], isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    control.index = isCalm ? control.shown.length - 1 : 0;
    if (isCalm) return;
    const seen = new IntersectionObserver(([entry]) => {
      if (entry.isIntersecting) { seen.disconnect(); this.go(); }
    }, {threshold: 0.6});
    seen.observe(panel.figure);
  }

  go() {
    const control = this.panel.controls[0], last = control.shown.length - 1;
    const to = n => { control.index = n; this.panel.draw(); };
    this.panel.line.setAttribute('aria-live', 'off');  // a screen reader isn't talked over
    this.button.textContent = 'Pause';
    if (control.index === last) to(0);
    this.timer = setInterval(() => {
      to(control.index + 1);
      if (control.index === last) this.stop();
    }, PACE);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.button.textContent = 'Play';
    this.panel.line.removeAttribute('aria-live');
  }
}

/** The bench. What it shows depends on the trials made before, so the page draws the trail. */
class Trail {
  constructor(figure, data) {
    Object.assign(this, {figure, data, tried: new Map()});
    this.pencil = new Pencil(figure.dataset.play, data);
    this.controls = Object.fromEntries(data.controls.map((each, n) => [
      each.name, new Control(`${figure.dataset.play}-${n}`, each, () => this.moved(each.name))]));
    this.known = new Map(Object.entries(data.places).map(([preset, {start}]) =>
      [preset, {preset, at: start, settings: this.place(preset, start)[0]}]));
    const bar = part('div', 'play-bar');
    bar.append(...Object.values(this.controls).map(each => each.box));
    this.line = part('p', 'play-line');
    this.line.setAttribute('role', 'status');
    [this.why, this.table] = [part('p', 'play-why'), part('div', 'play-table')];
    [this.picture, this.below] = [part('div', 'play-picture'), part('div', 'play-picture')];
    this.below.style.setProperty('--high', 397);
    figure.replaceChildren(bar, part('p', 'play-fixed', data.fixed), this.why, this.line,
      this.picture, this.table, this.below);
    this.go(this.known.get(data.start));
  }

  /** The numbers of the settings and of the run at a place. */
  place(preset, at) {
    const {values, places} = this.data.places[preset];
    return places[this.data.fields.reduce((n, field) => n * values[field].length + at[field], 0)];
  }

  go({preset, at}) {
    const {values} = this.data.places[preset];
    this.preset = preset;
    for (const field of this.data.fields) {
      this.controls[field].options(values[field].map(v => v.toLocaleString('en')));
      this.controls[field].index = at[field];
    }
    this.draw();
  }

  moved(name) {
    const control = this.controls[name];
    if (name === 'preset' || name === 'trial') this.go(this.known.get(control.shown[control.index]));
    else this.draw();
  }

  /** The name of the trial that is shown: a preset's, or a number and what was changed. */
  name(settings, at) {
    for (const [name, each] of this.known) if (each.settings === settings) return name;
    const {values, start} = this.data.places[this.preset];
    const changes = this.data.fields.filter(field => at[field] !== start[field])
      .map(field => `${this.data.labels[field]} ${values[field][at[field]]}`);
    const number = this.known.size - Object.keys(this.data.places).length + 1;
    const name = `${number} · ${changes.join(', ')}`;
    this.known.set(name, {preset: this.preset, at, settings});
    return name;
  }

  draw() {
    const at = Object.fromEntries(this.data.fields.map(field => [field, this.controls[field].index]));
    const [settings, number] = this.place(this.preset, at);
    const now = this.name(settings, at), run = this.data.runs[number];
    this.tried.delete(now);
    this.tried.set(now, run);
    const model = this.controls.model.index, every = new Map(Object.entries(this.data.dots));
    for (const [name, each] of this.tried) every.set(name, each);
    const whole = [...every].filter(([, each]) => each.lost === 'nothing');
    const costs = ([name, each]) => [each.dollars[model], name !== now];  // of equals, the one shown
    const isLess = ([one, last], [other, first]) => one < other || (one === other && last < first);
    const [best, its] = whole.reduce(
      (least, each) => least && !isLess(costs(each), costs(least)) ? least : each, null) || [''];
    const short = name => name.split(' · ')[0], titled = name => this.data.titles[name] ?? name;
    const cheapest = best ?
      `${short(best) === best ? '' : 'trial '}${short(best)}, ${its.prices[model]}` : 'none yet';
    this.say(now, run, cheapest, every, model);
    const path = [...this.tried.keys()].filter(name => this.known.get(name).preset === this.preset).slice(-6);
    const dots = [...path, ...[...every.keys()].filter(name => !path.includes(name))].map(name => ({
      words: titled(name === now ? shorten(name, 36) : short(name)), at: [every.get(name).dollars[model], every.get(name).kept],
      hollow: every.get(name).hollow, onTrail: path.includes(name), now: name === now, best: name === best}));
    const title = `Cheapest that loses nothing: ${cheapest}`;
    this.picture.innerHTML = trade(dots, {...this.data, title, label: this.line.textContent});
    this.picture.style.setProperty('--high', 370);
    this.below.innerHTML = this.pencil.svg(run.below, `Turns: ${now}`).replace('>Turns: </text>',
      `>Turns: ${escaped(shorten(now, 50))}</text>`);
    this.grey(run.why, now);
  }

  say(now, run, cheapest, every, model) {
    const {note} = this.data, prices = this.controls.model.shown[model];
    const from = now === this.preset ? '' : `from ${this.preset}, `;
    this.line.textContent = `${now}, ${run.prices[model]} (${from}at the prices of ${prices}). ` +
      `${run.turns} turn${run.turns === 1 ? '' : 's'}. Lost: ${run.lost}.${note}\n` +
      `Cheapest so far that loses nothing: ${cheapest}.`;
    const rows = [...every].sort((one, other) => one[1].dollars[model] - other[1].dollars[model])
      .map(([name, each]) => [`${name === now ? '▶ ' : ''}${name}`, each.prices[model], each.lost]);
    this.table.innerHTML = '<div role="region" tabindex="0" aria-label="table of the trials"><table>' +
      '<thead><tr><th>trial</th><th>price</th><th>lost</th></tr></thead><tbody>' + rows.map(row =>
        `<tr>${row.map(cell => `<td>${escaped(cell)}</td>`).join('')}</tr>`).join('') + '</tbody></table></div>';
  }

  /** Greys the controls that can't change this run, and says why. */
  grey(why, now) {
    const lines = new Map();
    for (const field of this.data.fields) {
      const control = this.controls[field];
      control.input.disabled = field in why || control.shown.length < 2;
      if (field in why) lines.set(why[field], [...lines.get(why[field]) || [], this.data.labels[field]]);
    }
    this.why.textContent = [...lines].map(([reason, names]) =>
      `Greyed: ${names.join(', ')}, because ${reason}`).join(' ');
    const {preset, trial} = this.controls;
    preset.index = preset.shown.indexOf(this.preset);
    trial.options([...this.known.keys()]);
    trial.index = trial.shown.indexOf(now);
  }
}

/** Cuts words at the end, as Python's textwrap.shorten does. */
function shorten(text, width) {
  if (text.length <= width) return text;
  const words = text.split(' ');
  while (words.length && words.join(' ').length > width - 2) words.pop();
  return words.join(' ') + ' …';
}

const POINT = INCH / 72;
const [DARK, QUIET, RED, DOT] = ['#22272e', '#5b6470', '#b23a24', '#8a919b'];
const SIDES = [[9, 0], [-9, 0], [0, 9], [0, -9], [9, 9], [9, -9], [-9, 9], [-9, -9],
  [9, 22], [9, -22], [-9, 22], [-9, -22], [0, 22], [0, -22]];
const measure = document.createElement('canvas').getContext('2d');

/** Draws each run as a named dot: the price to the right, what is left of the task upwards. */
function trade(dots, {title, left, most, evidence, label}) {
  const [x0, y0, wide, high] = [720, 3150, 6200, 2600];
  const prices = dots.map(each => each.at[0]);
  const low = Math.min(...prices), top = Math.max(...prices), span = top - low || top || 1;
  const x = dollars => x0 + wide * (dollars - low + 0.18 * span) / (1.38 * span);
  const y = kept => y0 - high * kept / (1.2 * most);
  const taken = [], over = [], under = [];
  const line = (d, colour, width) => `<path d="${d}" style="--play-line:${colour}" stroke-width="${width}"/>`;
  const words = (text, x, y, colour, size = 9, anchor = 'start', more = '') =>
    `<text x="${x}" y="${y}" style="--play-fill:${colour}" font-size="${size * POINT}" text-anchor="${anchor}" ${more}>${escaped(text)}</text>`;
  for (const dollars of ticks(low - 0.18 * span, top + 0.2 * span)) {
    under.push(line(`M${x(dollars)} ${y0}v49`, QUIET, 11),
      words(`${(100 * dollars).toFixed(2)} ¢`, x(dollars), y0 + 180, QUIET, 9, 'middle'));
  }
  const step = Math.max(1, Math.floor(most / 4)), levels = [most];
  for (let kept = 0; kept < most - Math.floor(most / 8); kept += step) levels.unshift(kept);
  for (const kept of levels) {
    under.push(line(`M${x0} ${y(kept)}h${wide}`, '#eceef0', 11), line(`M${x0} ${y(kept)}h-49`, QUIET, 11),
      words(kept, x0 - 90, y(kept) + 45, QUIET, 9, 'end'));
  }
  under.push(line(`M${x0} ${y0 - high}V${y0}h${wide}`, QUIET, 11),
    words('price of the task', x0 + wide / 2, y0 + 400, QUIET, 10, 'middle'),
    words(`${left}, of ${most}`, 200, y0 - high / 2, QUIET, 10, 'middle', `transform="rotate(-90 200 ${y0 - high / 2})"`),
    words(title, 100, 280, DARK, 13, 'start', 'font-weight="bold"'),
    words(evidence, 100, 3660, QUIET, 8, 'start'));
  const hints = ['↖ cheaper, and less lost', ...dots.some(each => each.hollow) ? ['○ the rule or a fact is lost'] : []];
  hints.forEach((text, n) => over.push(
    words(text, x(top), y(most / 2) - 40 - 165 * (hints.length - 1 - n), DOT, 9, 'end')));
  taken.push([x(top) - 2200, y(most / 2) - 40 - 165 * hints.length, x(top), y(most / 2)]);
  const trail = dots.filter(each => each.onTrail);
  under.push(`<path d="M${trail.map(each => `${x(each.at[0])} ${y(each.at[1])}`).join('L')}"
    style="--play-line:${RED}" stroke-width="${1.4 * POINT}" opacity="0.5"/>`);
  for (const each of dots) {
    [each.x, each.y] = [x(each.at[0]), y(each.at[1])];
    const colour = each.onTrail ? RED : DOT, size = each.now ? 11 : each.onTrail ? 5 : 9;
    const circle = (r, ink, style) => `<circle cx="${each.x}" cy="${each.y}" r="${r * POINT}"
      style="--play-line:${ink};${style}" stroke-width="${1.6 * POINT}"/>`;
    over.push(circle(size / 2, colour, each.hollow ? 'fill:var(--play-paper)' : `--play-fill:${colour}`));
    if (each.best) over.push(circle(8, DARK, ''));
    const r = (each.best ? 9 : size / 2 + 1) * POINT;
    taken.push([each.x - r, each.y - r, each.x + r, each.y + r]);
  }
  for (const each of dots) {
    const [colour, size] = each.onTrail ? [RED, 10] : [QUIET, 9];
    measure.font = `${size * POINT}px system-ui, sans-serif`;
    const box = {wide: measure.measureText(each.words).width, high: 1.1 * size * POINT};
    const [left, bottom] = beside(each, box, taken, x0, x0 + wide);
    over.push(words(each.words, left, bottom - 0.2 * box.high, colour, size));
  }
  return `<svg viewBox="0 0 7200 3700" role="img" aria-label="${escaped(label)}">${under.join('')}${over.join('')}</svg>`;
}

/** Finds where a name stands beside its dot, where nothing else does: its left and its bottom. */
function beside(dot, {wide, high}, taken, from, to) {
  const places = SIDES.map(([across, up]) => {
    const left = dot.x + across * POINT - (across > 0 ? 0 : across ? wide : wide / 2);
    return [left, dot.y - up * POINT + (up > 0 ? 0 : up ? high : high / 2)];
  });
  const isFree = ([left, bottom]) => from < left && left + wide < to && !taken.some(
    box => left < box[2] && box[0] < left + wide && bottom - high < box[3] && box[1] < bottom);
  const place = places.find(isFree) || places[0];
  taken.push([place[0], place[1] - high, place[0] + wide, place[1]]);
  return place;
}

/** At most seven round numbers from low to high. */
function ticks(low, high) {
  const rough = (high - low) / 6, size = 10 ** Math.floor(Math.log10(rough));
  const step = size * [1, 2, 2.5, 5, 10].find(nice => nice * size >= rough);
  const first = Math.ceil(low / step);
  return Array.from({length: Math.floor(high / step) - first + 1}, (_, n) => (first + n) * step);
}

function part(tag, name, text = '') {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  element.hidden = tag === 'p' && name === 'play-fixed' && !text;
  return element;
}

const KINDS = {figure: Still, panel: Panel, trail: Trail};

async function start(figure) {
  const data = await unpack(document.getElementById(`play-${figure.dataset.play}`).textContent);
  figure.player = new KINDS['still' in figure.dataset ? 'figure' : data.kind](figure, data);
  figure.dataset.ready = '';
}

document.querySelectorAll('figure.play').forEach(start);
