// The page of An hour: editors, a Python in a worker, and pictures of the runs.
// Nothing is loaded before the first press, and all of it comes from the folder python/.
"use strict";

(() => {
const CELLS = JSON.parse(document.getElementById("hour-cells").textContent);
const LOOKS = JSON.parse(document.getElementById("hour-looks").textContent);
const KEY = "agent-course-hour";
const WAIT = 400;  // milliseconds after a slider's last step
const LONG = 20_000;  // milliseconds after which we ask whether a loop ends
const INK = {dark: "#22272e", grey: "#5b6470", red: "#b23a24", grid: "#eceef0"};
const COMPARED = /^([^\n:]+): you said nothing, it is (.+)$/gm;
const AGENT = CELLS.at(-1).id;  // the last cell needs all the others
const sections = new Map([...document.querySelectorAll("section.live")]
  .map(each => [each.dataset.cell, each]));
const outputs = id => document.querySelector(`[data-outputs="${id}"]`);
const cellOf = new Map(CELLS.map(cell => [cell.id, cell]));

// -- what stays in this browser -----------------------------------------------------------

let store = {sources: {}, outputs: {}, kept: {}};

function recall() {
  try {
    store = {...store, ...JSON.parse(localStorage.getItem(KEY) ?? "{}")};
  } catch { /* a browser that keeps nothing, or something that isn't ours */ }
}

function keep() {
  try {
    localStorage.setItem(KEY, JSON.stringify(store));
  } catch { /* it works all the same, until the page is closed */ }
}

// -- Python ---------------------------------------------------------------------------------

let worker;  // a promise of the worker that has started
let stopWorker = _ => {};
let count = 0;
const waiting = new Map();
const ran = new Map();  // by cell, the source that this worker ran last

function say(words, isLasting = true) {
  for (const state of document.querySelectorAll(".state"))
    state.textContent = state.closest("section") === place || !isLasting ? words : "";
}

let place = document.getElementById("try");  // where the person pressed

function loading({loaded, total, step}) {
  const bar = place.querySelector(".loading") ?? document.querySelector("#try .loading");
  bar.hidden = false;
  if (loaded) {
    bar.max = total;
    bar.value = Math.min(loaded, total);
    const text = `Loading Python: ${(loaded / 1e6).toFixed(0)} of ${(total / 1e6).toFixed(0)} MB`;
    if (place.querySelector(".state").textContent !== text) say(text);
  } else {
    bar.removeAttribute("value");
    say(`${step} …`);
  }
}

function startWorker() {
  if (location.protocol === "file:")
    throw new Error("A page opened from a file can't start Python. Serve its folder, " +
      "with python -m http.server -d build/html, and open http://localhost:8000.");
  const made = new Worker("python/worker.js", {type: "module"});
  made.onmessage = ({data}) => {
    const asked = waiting.get(data.number);
    if (!asked) return loading(data);
    waiting.delete(data.number);
    if (data.error) asked.fail(new Error(data.error)); else asked.done(data.reply);
  };
  made.onerror = event => stopWorker(event.message || "Python could not be loaded.");
  stopWorker = words => {
    made.terminate();
    worker = undefined;
    ran.clear();
    for (const asked of waiting.values()) asked.fail(new Error(words));
    waiting.clear();
  };
  return post(made, {kept: store.kept}).then(() => made);
}

function post(target, message) {
  const number = ++count;
  target.postMessage({number, ...message});
  return new Promise((done, fail) => waiting.set(number, {done, fail}));
}

async function python() {
  worker ??= startWorker();
  try {
    return await worker;
  } catch (error) {
    worker = undefined;
    throw error;
  } finally {
    for (const bar of document.querySelectorAll(".loading")) bar.hidden = true;
    for (const cost of document.querySelectorAll(".cost")) cost.remove();
  }
}

const ask = async message => post(await python(), {message});

let busy = Promise.resolve();

/** Do one thing after another, and say what came of it where the person pressed. */
function queue(section, work) {
  const job = busy.then(async () => {
    place = section;
    const start = performance.now();
    const slow = setTimeout(() =>
      say("Still running. If a loop of yours doesn't end, press Stop."), LONG);
    document.body.dataset.running = "";
    for (const stop of document.querySelectorAll(".stop")) stop.hidden = false;
    try {
      const words = await work();
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      say(`${typeof words === "string" ? words : "Done"} in ${seconds} seconds.`);
    } catch (error) {
      say(error.message);
    } finally {
      clearTimeout(slow);
      delete document.body.dataset.running;
      for (const stop of document.querySelectorAll(".stop")) stop.hidden = true;
    }
  });
  busy = job;
  return job;
}

// -- running cells --------------------------------------------------------------------------

const source = cell => store.sources[cell.id] ?? cell.source;

/** The cells to run for one: those before it that have not run, itself, those that show its
    agent, and those below that the person has run already. */
function chain(id) {
  const at = CELLS.findIndex(cell => cell.id === id);
  const next = CELLS.findIndex((cell, n) => n > at && cell.exercise);
  const end = next < 0 ? CELLS.length : next;
  const isFresh = cell => ran.get(cell.id) === source(cell);
  const before = CELLS.slice(0, at).filter(cell => !isFresh(cell));
  const after = CELLS.slice(end).filter(cell => ran.has(cell.id));
  const chosen = [...before, ...CELLS.slice(at, end), ...after];
  const first = CELLS[0];  // only the last cell needs the run without layers
  return chosen.filter(cell => cell !== first || chosen.some(each => each.id === AGENT));
}

async function run(id) {
  const cells = chain(id);
  for (const cell of cells) outputs(cell.id)?.classList.add("stale");
  try {
    for (const cell of cells) {
      const text = source(cell);
      await python();
      say(cell.exercise ? `Checking ${cell.exercise} …` : "Running your agent …");
      const {outputs: shown, kept} = await ask({run: [cell.id, text]});
      ran.set(cell.id, text);
      store.kept = kept;
      if (shown.length) store.outputs[cell.id] = shown;
      keep();
      show(cell.id);
    }
  } finally {
    for (const cell of cells) outputs(cell.id)?.classList.remove("stale");
    offerFile();
    dispatchEvent(new Event("resize"));  // site.js lets the keyboard scroll wide boxes
  }
  const {exercise} = cellOf.get(id);
  return exercise && `${exercise} ${sections.get(id).dataset.passed === "true" ? "passed" : "not yet"},`;
}

function offerFile() {
  for (const button of document.querySelectorAll(".save")) button.hidden = !store.kept.my_agent;
}

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([store.kept.my_agent], {type: "text/x-python"}));
  link.download = "my_agent.py";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// -- what a cell showed ---------------------------------------------------------------------

const element = (tag, properties = {}, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

function show(id) {
  const box = outputs(id);
  const shown = store.outputs[id];
  if (!box || !shown) return;
  box.replaceChildren(...shown.map((output, n) => drawn(output, `live-${id}-${n}`)));
  const verdicts = shown.map(output => VERDICT.exec(output.text ?? "")?.[1]);
  if (sections.has(id)) sections.get(id).dataset.passed = verdicts.includes("passed");
}

function drawn(output, name) {
  if (output.text !== undefined) return words(output);
  if (output.table) return table(output.table);
  if (output.panel) return panel(output.panel, name);
  return figure(output.picture, name);
}

const VERDICT = /^\d\d\.\d (passed|not yet): /;

/** A verdict is broken into lines of a notebook, and the page has its own. */
const unwrapped = text => VERDICT.test(text) ? text.replaceAll("\n", " ") : text;

function words({text, error}) {
  const pre = element("pre", {className: error ? "words error" : "words"});
  let end = 0;
  text = unwrapped(text.trimEnd());
  for (const line of text.matchAll(COMPARED)) {
    const span = element("span", {textContent: line[0]});
    Object.assign(span.dataset, {name: line[1], value: line[2]});
    pre.append(text.slice(end, line.index), span);
    end = line.index + line[0].length;
  }
  pre.append(text.slice(end));
  return pre;
}

function table({rows, units}) {
  const names = Object.keys(Object.values(rows)[0]);
  const cell = value => value === true ? "yes" : value === false ? "no" :
    typeof value === "number" ? value.toLocaleString("en-US") : String(value);
  const head = element("tr", {}, element("th"), ...names.map(name =>
    element("th", {scope: "col", textContent: units[name] ? `${name} (${units[name]})` : name})));
  const lines = Object.entries(rows).map(([name, row]) => element("tr", {},
    element("th", {scope: "row", textContent: name}),
    ...names.map(each => element("td", {textContent: cell(row[each])}))));
  const whole = element("table", {className: "dataframe"},
    element("thead", {}, head), element("tbody", {}, ...lines));
  return element("div", {className: "wide"}, whole);
}

// -- two sliders over the learner's agent -----------------------------------------------------

function panel(data, name) {
  const box = element("div", {className: "live-panel"});
  const numbers = {...data.start};
  const picture = element("div", {className: "live-place"}, figure(data, name));
  const line = element("p", {className: "state", role: "status"});
  line.setAttribute("role", "status");
  let timer;
  const move = () => queue(box, async () => {
    line.textContent = "Running your agent …";
    if (!ran.has(AGENT)) await run(AGENT);
    const {outputs: [shown]} = await ask({move: {...numbers}});
    picture.replaceChildren(shown.picture ? figure(shown.picture, name) : words(shown));
  }).finally(() => picture.classList.remove("stale"));
  const controls = Object.entries(data.knobs).map(([knob, [min, max, step]]) => {
    const id = `${name}-${knob}`;
    const input = element("input", {type: "range", id, min, max, step, value: numbers[knob]});
    const value = element("output", {htmlFor: id, textContent: numbers[knob].toLocaleString("en-US")});
    const tell = () => {
      numbers[knob] = Number(input.value);
      value.textContent = numbers[knob].toLocaleString("en-US");
      picture.classList.add("stale");
    };
    input.addEventListener("input", tell);
    input.addEventListener("change", () => {
      tell();
      clearTimeout(timer);
      timer = setTimeout(move, WAIT);
    });
    return element("div", {className: "play-control"},
      element("label", {htmlFor: id, textContent: knob}), input, value);
  });
  const stop = element("button", {type: "button", className: "stop", hidden: true, textContent: "Stop"});
  stop.addEventListener("click", halt);
  box.append(element("div", {className: "play-bar"}, ...controls),
    element("div", {className: "live-bar"}, stop, line), picture);
  return box;
}

// -- the picture of a run -----------------------------------------------------------------------

const escaped = text => String(text).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
const thousands = tokens => tokens ? `${tokens / 1000}k` : "0";

/** A step for an axis with about `most` marks. */
function step(top, most) {
  const rough = top / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 4, 5, 10].map(n => n * power).find(n => n >= rough);
}

function figure(run, name) {
  const caption = element("figcaption", {textContent: run.title});
  const frame = element("div", {className: "play-picture"});
  frame.style.aspectRatio = "auto";
  frame.innerHTML = svg(run, name);
  const key = element("ul", {className: "live-key"}, ...Object.keys(run.kinds).map(kind => {
    const [colour, pattern, title] = LOOKS[kind];
    const swatch = element("span", {className: pattern ? "swatch hatched" : "swatch"});
    swatch.style.setProperty("--play-fill", colour);
    return element("li", {}, swatch, title);
  }));
  const marks = [
    run.compaction.some(each => each && each !== "failed") &&
      "A dotted bar is a prompt that was never sent: a summary took its place.",
    run.summary_request.some(Boolean) && "A thin bar is the request for a summary.",
  ].filter(Boolean);
  return element("figure", {className: "live-figure"}, caption, frame, key,
    ...marks.length ? [element("p", {className: "quiet", textContent: marks.join(" ")})] : []);
}

function svg(run, name) {
  const isNarrow = matchMedia("(max-width: 600px)").matches;
  const [width, height, left, right, head, foot] =
    isNarrow ? [3600, 2900, 440, 40, 260, 520] : [7200, 3200, 680, 1470, 260, 520];
  const turns = Math.max(run.turns, run.tokens.length + (run.refused ? 1 : 0));
  const highest = Math.max(...run.tokens, ...run.replaced_tokens, run.refused_tokens, run.window);
  const top = 1.15 * highest;
  const column = (width - left - right) / turns;
  const x = turn => left + (turn - 1) * column;  // the left edge of a turn
  const y = tokens => height - foot - tokens / top * (height - head - foot);
  const parts = [`<pattern id="${name}-hatch" patternUnits="userSpaceOnUse" width="60" height="60"
    patternTransform="rotate(45)"><path d="M0 0V60" style="--play-line:${INK.dark}" stroke-width="16"/></pattern>`];
  const text = (at, up, words, {ink = INK.grey, anchor = "start", more = ""} = {}) =>
    parts.push(`<text x="${at}" y="${up}" text-anchor="${anchor}" font-size="125"
      style="--play-fill:${ink}" ${more}>${escaped(words)}</text>`);
  const path = (d, style, more = "") => parts.push(`<path d="${d}" style="${style}" ${more}/>`);
  const bar = (at, from, to, wide, style) =>
    path(`M${at} ${y(from)}V${y(to)}h${wide}V${y(from)}z`, style);
  const marks = step(top, 6);
  for (let tokens = 0; tokens <= top; tokens += marks) {
    path(`M${left} ${y(tokens)}H${width - right}`, `--play-line:${INK.grid}`, 'stroke-width="11" class="grid"');
    text(left - 70, y(tokens) + 45, thousands(tokens), {anchor: "end"});
  }
  const stairs = sizes => sizes.map((size, n) => `V${y(size)}H${x(n + 2)}`).join("");
  const back = sizes => sizes.map((size, n) => `V${y(size)}H${x(n + 1)}`).reverse().join("");
  let floor = run.tokens.map(() => 0);
  for (const [kind, sizes] of Object.entries(run.kinds)) {
    const [colour, pattern] = LOOKS[kind];
    const roof = sizes.map((size, n) => floor[n] + size);
    path(`M${x(1)} ${y(floor[0])}${stairs(roof)}${back(floor)}z`,
      pattern ? `fill:url(#${name}-hatch)` : `--play-fill:${colour}`);
    floor = roof;
  }
  path(`M${x(1)} ${y(0)}${stairs(run.tokens)}V${y(0)}`, `--play-line:${INK.grey}`, 'stroke-width="11"');
  run.compaction.forEach((kind, n) => {
    const wide = 125;
    if (run.summary_request[n]) bar(x(n + 1), 0, run.summary_request[n], 40, `--play-fill:${INK.dark}`);
    if (kind && kind !== "failed") {
      const high = run.replaced_tokens[n];
      path(`M${x(n + 1)} ${y(0)}V${y(high)}h${wide}V${y(0)}`, `--play-line:${INK.grey}`,
        'stroke-width="20" stroke-dasharray="20 20"');
      const middle = x(n + 1) + 0.64 * wide;
      path(`M${middle} ${y(high)}V${y(run.tokens[n]) - 110}`, `--play-line:${INK.red}`, 'stroke-width="25"');
      path(`M${middle - 55} ${y(run.tokens[n]) - 120}h110l-55 95z`, `--play-fill:${INK.red}`);
    }
    if (kind === "failed" || run.failed[n]) text(x(n + 1) + column / 2, y(run.tokens[n]) - 60, "×",
      {ink: INK.red, anchor: "middle", more: 'font-weight="bold"'});
  });
  if (run.refused) {
    const at = run.tokens.length + 1;
    const size = run.refused_tokens || run.window;
    bar(x(at), 0, size, column, `--play-fill:${INK.red};opacity:.5`);
    const isLong = isNarrow && run.refused_tokens;
    const words = isLong ? `refused: ${run.refused_tokens.toLocaleString("en-US")} tokens`
      : run.refused.replace(/\.$/, "");
    const half = 36 * words.length;
    const middle = Math.max(left + half, Math.min(x(at) + column / 2, width - right - half));
    text(middle, y(size) - 60, words, {ink: INK.red, anchor: "middle"});
  }
  path(`M${left} ${y(run.window)}H${width - right}`, `--play-line:${INK.dark}`, 'stroke-width="36"');
  const level = (tokens, words, ink) => isNarrow
    ? text(width - right, y(tokens) - 80, words, {ink, anchor: "end", more: 'class="level"'})
    : text(width - right + 80, y(tokens) + 45, words, {ink});
  level(run.window, `window ${run.window.toLocaleString("en-US")}`, INK.dark);
  if (run.threshold) {
    path(`M${left} ${y(run.threshold)}H${width - right}`, `--play-line:${INK.red}`,
      'stroke-width="18" stroke-dasharray="70 40"');
    level(run.threshold, `compacts at ${run.threshold.toLocaleString("en-US")}`, INK.red);
  }
  if (run.killed) {
    path(`M${x(run.killed + 1)} ${head}V${y(0)}`, `--play-line:${INK.red}`, 'stroke-width="20" stroke-dasharray="20 30"');
    text(x(run.killed + 1) + 60, y(0.9 * run.window), "killed", {ink: INK.red});
  }
  path(`M${left} ${head}V${y(0)}H${width - right}`, `--play-line:${INK.grey}`, 'stroke-width="11"');
  for (let turn = 10; turn <= turns; turn += 10) text(x(turn) + column / 2, y(0) + 180, turn, {anchor: "middle"});
  text((left + width - right) / 2, height - 90, "turn (one request each)", {anchor: "middle"});
  text(left, 130, "tokens in the prompt");
  return `<svg viewBox="0 0 ${width} ${height}" role="img" font-family="inherit"
    aria-label="${escaped(`${run.title}. ${run.words}`)}">${parts.join("")}</svg>`;
}

// -- editors --------------------------------------------------------------------------------------

const TOKENS = new RegExp([
  /(?<c1>#[^\n]*)/, /(?<s1>[fr]?"""[^]*?(?:"""|$)|[fr]?"(?:\\.|[^"\\\n])*"?|[fr]?'(?:\\.|[^'\\\n])*'?)/,
  /(?<mi>\b\d[\d_.]*\b)/,
  /(?<k>\b(?:def|return|if|elif|else|for|while|in|not|and|or|is|None|True|False|lambda|with|as|from|import|class|try|except|finally|raise|yield|pass|break|continue|assert|del|global|nonlocal)\b)/,
].map(each => each.source).join("|"), "g");

/** The code as it is typed. Some ways of putting text in make a box of each line. */
const typed = box => box.querySelector("div, br") ? box.innerText : box.textContent;

function colour(box) {
  const text = typed(box);
  const nodes = [];
  let end = 0;
  for (const word of text.matchAll(TOKENS)) {
    const [name] = Object.entries(word.groups).find(([, found]) => found !== undefined);
    nodes.push(text.slice(end, word.index), element("span", {className: name, textContent: word[0]}));
    end = word.index + word[0].length;
  }
  box.replaceChildren(...nodes, text.slice(end));
}

const jars = new Map();

/** Make each exercise's code an editor, the first time that something is pressed. */
async function edit() {
  if (jars.size || location.protocol === "file:") return;
  const {CodeJar} = await import("./python/codejar.js");
  for (const [id, section] of sections) {
    if (jars.has(id)) continue;
    const box = element("div", {className: "code editable", spellcheck: false});
    const label = `Your code for exercise ${cellOf.get(id).exercise}`;
    for (const [name, value] of Object.entries({
      role: "textbox", "aria-multiline": "true", "aria-label": label, autocapitalize: "off",
      autocomplete: "off", autocorrect: "off", "aria-describedby": `${section.id}-keys`,
    })) box.setAttribute(name, value);
    box.textContent = source(cellOf.get(id));
    section.querySelector(".keys").id = `${section.id}-keys`;
    section.querySelector(".keys").hidden = false;
    section.querySelector(".editor").replaceChildren(box);
    colour(box);
    const jar = CodeJar(box, colour, {tab: "    ", addClosing: false, spellcheck: false});
    box.style.whiteSpace = "pre";
    jar.onUpdate(() => note(id));
    box.addEventListener("keydown", event => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        event.stopImmediatePropagation();
        press(id);
      }
      if (event.key === "Escape") jar.updateOptions({catchTab: false});
    }, true);
    box.addEventListener("blur", () => jar.updateOptions({catchTab: true}));
    jars.set(id, jar);
  }
}

/** Keep what stands in an editor. */
function note(id) {
  const box = sections.get(id).querySelector("[role=textbox]");
  if (!box || typed(box) === source(cellOf.get(id))) return;
  store.sources[id] = typed(box);
  keep();
  offerStub(id);
}

function offerStub(id) {
  const own = store.sources[id];
  sections.get(id).querySelector(".stub").hidden = own === undefined || own === cellOf.get(id).source;
}

async function press(id) {
  const section = sections.get(id);
  place = section;
  try {
    await edit();
  } catch { /* the worker says what can't be loaded */ }
  note(id);
  return queue(section, () => run(id));
}

function halt() {
  stopWorker("Stopped. Python starts again at the next Run.");
}

function stub(id) {
  const text = cellOf.get(id).source;
  jars.get(id)?.updateCode(text);
  delete store.sources[id];
  keep();
  if (!jars.has(id)) sections.get(id).querySelector(".editor pre").textContent = text;
  offerStub(id);
}

// -- the page as it was left ------------------------------------------------------------------------

recall();
for (const [id, section] of sections) {
  if (store.sources[id] !== undefined)
    section.querySelector(".editor pre").textContent = store.sources[id];
  offerStub(id);
  section.querySelector(".run").addEventListener("click", () => press(id));
  section.querySelector(".stop").addEventListener("click", halt);
  section.querySelector(".stub").addEventListener("click", () => stub(id));
}
for (const id of Object.keys(store.outputs)) if (cellOf.has(id)) show(id);
for (const button of document.querySelectorAll(".save")) button.addEventListener("click", save);
offerFile();
dispatchEvent(new Event("resize"));
document.querySelector("#try .begin").addEventListener("click", async event => {
  place = document.getElementById("try");
  await edit().catch(() => {});
  await queue(place, python);
  if (worker) event.target.hidden = true;
  sections.values().next().value.querySelector("[role=textbox]")?.focus();
});
})();
