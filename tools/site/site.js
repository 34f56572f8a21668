// Predictions: show what happened, and set the reader's guess beside it, as lessons.compare does.
// Boxes that are larger than their room: let the keyboard scroll them.
"use strict";

const number = text => Number(text.replaceAll(",", ""));
const isNumber = text => /^-?[\d,]+(\.\d+)?$/.test(text);
const isWhole = text => isNumber(text) && !text.includes(".");

function shown(value, whole) {
  const digits = whole ? 0 : 2;
  return value.toLocaleString("en-US", {minimumFractionDigits: digits, maximumFractionDigits: digits});
}

// How near a number came: ", 5 less" or, for a large one, ", 12% more".
function distance(guess, value) {
  const off = number(value) - number(guess);
  const side = off > 0 ? "more" : "less";
  if (isWhole(value) && number(value) >= 1000)
    return `, ${Number((100 * Math.abs(off) / number(value)).toPrecision(2))}% ${side}`;
  return `, ${shown(Math.abs(off), isWhole(value) && isWhole(guess))} ${side}`;
}

function compared(name, guess, value) {
  if (!guess) return `${name}: you said nothing, it is ${value}`;
  const said = isNumber(guess) ? shown(number(guess), isWhole(guess)) : guess;
  if (said === value) return `${name}: you said ${said}, and so it is`;
  return `${name}: you said ${said}, it is ${value}${isNumber(value) ? distance(guess, value) : ""}`;
}

function reveal(event) {
  event.preventDefault();
  const form = event.target;
  const answer = document.getElementById(form.dataset.answer);
  const guesses = new Map([...form.querySelectorAll("[data-name]")].map(field => {
    const input = field.querySelector("input:checked, input[type=number]");
    return [field.dataset.name, input ? input.value : ""];
  }));
  const lines = [...answer.querySelectorAll("[data-value]")];
  for (const line of lines) {
    const {name, value} = line.dataset;
    line.textContent = compared(name, guesses.get(name), value);
  }
  form.querySelector("output").textContent = lines.map(line => line.textContent).join("\n");
  answer.open = true;
  answer.scrollIntoView({block: "nearest"});
}

function letScroll() {
  for (const box of document.querySelectorAll("pre, .wide, .play-picture")) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls && !box.hasAttribute("tabindex")) box.tabIndex = 0;
  }
}

document.querySelectorAll("form.predict").forEach(form => form.addEventListener("submit", reveal));
document.addEventListener("toggle", letScroll, true);
addEventListener("resize", letScroll);
new MutationObserver(letScroll)
  .observe(document.body, {subtree: true, attributeFilter: ["data-ready"]});
letScroll();
