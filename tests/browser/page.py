"""A notebook in a browser: opened, run, and its panels' controls moved as a person moves them.

What the page shows is read off the page; what Python says of the same panel is asked of the
kernel, through JupyterLab's own connection to it. Not here: what must be true (the tests).
"""

import ast
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page

from tests.browser.servers import PATIENCE

SCRIPTS = r"""
const VIEW = 'application/vnd.jupyter.widget-view+json';
window.course = {
  panel: () => window.jupyterapp.shell.currentWidget,
  kernel: () => course.panel().sessionContext.session.kernel,
  ask: async expression => {
    const content = {code: '', silent: true, store_history: false,
                     user_expressions: {answer: expression}};
    const reply = await course.kernel().requestExecute(content).done;
    return reply.content.user_expressions.answer;
  },
  listen: () => {
    course.errors = [];
    course.moving = new Set();  // moves of controls that the kernel has not dealt with
    course.kernel().anyMessage.connect((_, {msg, direction}) => {
      const kind = msg.header.msg_type;
      if (direction === 'send' && kind === 'comm_msg') course.moving.add(msg.header.msg_id);
      if (kind === 'status' && msg.content.execution_state === 'idle')
        course.moving.delete(msg.parent_header.msg_id);
    });
    course.kernel().iopubMessage.connect((_, m) => {
      const kind = m.header.msg_type;
      if (kind === 'error') course.errors.push(m.content.traceback.join('\n'));
      if (kind !== 'stream' || m.content.name !== 'stderr') return;
      // JupyterLab asks for widgets before the kernel has heard of any.
      if (!m.content.text.startsWith('No such comm')) course.errors.push(m.content.text);
    });
  },
  mark: () => {
    const found = [];
    for (const cell of course.panel().content.widgets) {
      const area = cell.outputArea;
      for (let i = 0; area && i < area.model.length; i++) {
        const view = area.model.get(i).data[VIEW];
        if (!view) continue;  // a text or a picture
        area.widgets[i].node.setAttribute('data-view', found.length);
        found.push(view.model_id);
      }
    }
    return found;
  },
  // Each control by the words beside it, each sentence, each picture.
  state: async root => {
    const each = (selector, f) => [...root.querySelectorAll(selector)].map(f);
    const label = box =>  // a check box has an empty one before it
      [...box.querySelectorAll('.widget-label, .widget-label-basic')].pop().textContent.trim();
    const read = (kind, value) => each(kind, box => [label(box), value(box)]);
    const field = box => box.querySelector('input, textarea');
    return {
      controls: Object.fromEntries([
        ...read('.widget-slider', box => box.querySelector('.widget-readout').textContent),
        ...read('.widget-dropdown', box => box.querySelector('select').selectedOptions[0].text),
        ...read('.widget-checkbox', box => field(box).checked ? 'True' : 'False'),
        ...read('.widget-text, .widget-textarea', box => field(box).value),
      ].filter(([name]) => name)),
      texts: each('.widget-html-content', box => box.textContent.split(/\s+/).join(' ').trim()),
      pictures: await Promise.all(each('img.widget-image', course.hash)),
    };
  },
  scroll: number => {
    const outer = document.querySelector('.jp-WindowedPanel-outer');
    outer.scrollTop = number * outer.clientHeight;
    return outer.scrollTop + outer.clientHeight < outer.scrollHeight - 1;
  },
  cutOff: () => [...document.querySelectorAll('.jp-OutputArea-output, .jp-OutputArea-output pre')]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => `${each.scrollWidth} > ${each.clientWidth}: ${each.textContent.slice(0, 60)}`),
  hash: async image => {
    const bytes = await (await fetch(image.src)).arrayBuffer();
    const digest = await crypto.subtle.digest('SHA-256', bytes);
    return [...new Uint8Array(digest)].map(b => b.toString(16).padStart(2, '0')).join('');
  },
};
"""
PLACES = ("min", "now", "max")


@dataclass(frozen=True)
class State:
    """Controls by the words beside them, sentences, and hashes of pictures."""

    controls: dict[str, str]
    texts: tuple[str, ...]
    pictures: tuple[str, ...]

    @classmethod
    def of(cls, found: dict[str, Any]) -> "State":
        controls = {name: _plain(value) for name, value in found["controls"].items()}
        return cls(controls, tuple(found["texts"]), tuple(found["pictures"]))


def _plain(value: str) -> str:
    """A value without what a page writes it with."""
    plain = {",": "", "\N{MINUS SIGN}": "-", "\N{NO-BREAK SPACE}": " "}
    return value.translate(str.maketrans(plain))


class Notebook:
    """One notebook, open in one page. `console` has the errors that the page's console told."""

    def __init__(self, page: Page) -> None:
        self.page, self.console = page, list[str]()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.console.append(str(error)))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.console.append(f"{message.text} ({message.location.get('url', '')})")

    def open(self, url: str) -> None:
        """Until every cell stands in the page."""
        self.page.goto(url)
        self.page.wait_for_function("() => window.jupyterapp")
        self.page.evaluate(SCRIPTS)
        self.page.evaluate("() => jupyterapp.restored")
        self.page.wait_for_function("() => course.panel()?.context?.isReady")
        self.page.evaluate("() => course.panel().revealed")

    def run_all(self) -> None:
        """As the menu's Run All Cells; until the last one is done."""
        self.page.evaluate("() => course.panel().sessionContext.ready")
        self.page.wait_for_function("() => course.kernel()")
        self.page.evaluate("() => course.listen()")
        self.page.evaluate("() => jupyterapp.commands.execute('notebook:run-all-cells')")

    def faults(self) -> list[str]:
        """What the kernel sent as an error or a warning, for cells and for controls."""
        return self.page.evaluate("() => course.errors")

    def probe(self, function: str, *arguments: str) -> Any:
        """The answer of one of the probe's functions, from the notebook's kernel."""
        return self.ask(f"__import__('panel_probe').{function}({', '.join(map(repr, arguments))})")

    def ask(self, expression: str) -> Any:
        """The value of an expression that gives JSON, in the notebook's kernel."""
        reply = self.page.evaluate("expression => course.ask(expression)", expression)
        assert reply["status"] == "ok", reply
        return json.loads(ast.literal_eval(reply["data"]["text/plain"]))

    def set_theme(self, theme: str) -> None:
        """JupyterLab's own light or dark one; until the page has it."""
        light = "true" if theme.endswith("Light") else "false"
        change = "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})"
        self.page.evaluate(change, theme)
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        self.page.wait_for_selector("#jupyterlab-splash", state="hidden")

    def each_view(self) -> Iterator[int]:
        """Scrolls from the top to the end, a page at a time."""
        for number in range(1000):
            more = self.page.evaluate("number => course.scroll(number)", number)
            yield number
            if not more:
                return

    def cut_off(self) -> list[str]:
        """Outputs that are wider than their place."""
        return self.page.evaluate("() => course.cutOff()")

    def panels(self) -> "list[Panel]":
        """Every widget shown, in the order of the page; the same one may be shown twice."""
        models: list[str] = self.page.evaluate("() => course.mark()")
        return [Panel(self, number, model) for number, model in enumerate(models)]


class Panel:
    """A panel as the page shows it, and the same one as Python has it."""

    def __init__(self, notebook: Notebook, number: int, model: str) -> None:
        self.notebook, self.page, self.model = notebook, notebook.page, model
        self.root = self.page.locator(f"[data-view='{number}']")

    def all(self, selector: str) -> list[Locator]:
        """What can be seen of a kind, in the order of the page."""
        found = self.root.locator(selector).all()
        return [each for each in found if each.is_visible() and each.is_enabled()]

    def shown(self) -> State:
        """What stands in the page."""
        return State.of(self.root.evaluate("root => course.state(root)"))

    def in_python(self) -> State:
        """What the kernel has."""
        return State.of(self.notebook.probe("state", self.model))

    def settled(self) -> State:
        """What the page shows, once all is done and Python has the same; else TimeoutError."""
        end = time.monotonic() + PATIENCE
        while (page := self._done()) != (python := self.in_python()):
            if time.monotonic() > end:
                raise TimeoutError(f"the page shows\n{page}\nand Python has\n{python}")
            time.sleep(0.02)
        return page

    def _done(self) -> State:
        """What the page shows when the kernel has dealt with all moves, seconds later if need be.

        Kernels take them beside the cells, so an answer to a question does not say that.
        """
        self.page.wait_for_function("() => course.moving.size === 0")
        return self.shown()

    def put_back(self) -> None:
        """Every control to where it stood when this was first asked; from Python."""
        self.notebook.probe("put_back", self.model)

    def differences(self) -> list[str]:
        """What is not as Python works it out anew for the same values."""
        return self.notebook.probe("differences", self.model)


def press(handle: Locator) -> None:
    """One step of a slider by the keyboard, away from the nearer end."""
    low, now, high = (float(handle.get_attribute(f"aria-value{k}") or 0) for k in PLACES)
    handle.press("ArrowLeft" if now > (low + high) / 2 else "ArrowRight")


def drag(handle: Locator, share: float, steps: int = 6) -> None:
    """A slider's knob with the mouse, to a share of the slider's length."""
    handle.hover()
    knob = handle.bounding_box()
    track = handle.locator("xpath=ancestor::*[contains(@class, 'noUi-base')]").bounding_box()
    assert knob
    assert track
    mouse = handle.page.mouse
    mouse.down()
    mouse.move(track["x"] + share * track["width"], knob["y"] + knob["height"] / 2, steps=steps)
    mouse.up()
